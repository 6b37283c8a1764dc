import { TIMEOUTS_DEFAULT } from '#catalog/build.ts'
import type { Channel, Model, Offer } from '#catalog/catalog.ts'
import { toFeePrice } from '#catalog/fee.ts'
import type { Fee } from '#catalog/price.ts'
import { Fault } from '#core/fault.ts'
import { baseUrlOf, type Provider } from '#providers/provider.ts'
import type { OpenProviderKey } from '#tenants/provider-keys/provider-key.ts'
import type { ProviderKeys } from '#tenants/provider-keys/provider-keys.ts'
import type { ClientCall } from './call.ts'
import type { Failure } from './failure.ts'

export interface PrivateOffersDeps {
  readonly providerKeys: Pick<ProviderKeys, 'of' | 'noteUse' | 'noteRefusal'>
  readonly providers: ReadonlyMap<string, Provider>
  /** What requests cost that a customer's own key serves. */
  fee(): Fee
}

type Asking = Pick<ClientCall, 'principal' | 'access'>

/**
 * The ways to a model that a workspace brought itself. A key that serves a model claims its requests: they go to the
 * platform only where the key's owner said so, because the platform's way is paid for at another price.
 */
export class PrivateOffers {
  readonly #deps: PrivateOffersDeps
  readonly #offers = new WeakMap<OpenProviderKey, WeakMap<Model, Offer>>()
  readonly #keys = new WeakMap<Channel, OpenProviderKey>()

  constructor(deps: PrivateOffersDeps) {
    this.#deps = deps
  }

  /**
   * The offers among which a call's attempts are planned: the workspace's own before the platform's.
   *
   * @throws Fault when the model is claimed by keys of which none can be used, or when there is none and one was asked for
   */
  async candidates({ principal, access }: Asking, model: Model): Promise<readonly Offer[]> {
    if (access === 'platform') return model.offers
    const known = this.#deps.providerKeys.of(principal.workspaceId)
    const claiming = (known instanceof Promise ? await known : known).filter(key => this.#serves(key, model))
    const [first] = claiming
    if (!first) {
      if (access === 'byok') throw unserved(model)
      return model.offers
    }
    const offers = claiming.filter(isUsable).map(key => this.#offerOf(key, model))
    const mayFallBack = access !== 'byok' && claiming.every(({ fallback }) => fallback === 'platform')
    if (mayFallBack) return [...offers, ...model.offers]
    if (offers.length === 0) throw unusable(first)
    return offers
  }

  /** An attempt on this offer is about to be made. */
  noteAttempt({ channel }: Offer): void {
    const key = this.#keys.get(channel)
    if (key) this.#deps.providerKeys.noteUse(key)
  }

  /** A failed attempt, in the words of whose key it was. A provider that refuses the key is not asked with it again. */
  explain({ channel }: Offer, failure: Failure): Failure {
    const key = this.#keys.get(channel)
    const { status, fault } = failure
    if (!key || status === undefined) return failure
    if (fault.upstream !== 'refused' && fault.upstream !== 'forbidden') return failure
    // Some hosts, Google's among them, answer 400 to keys that they do not know; and to places, so the key stays.
    if (!REFUSALS.has(status)) return { ...failure, fault: doubted(key, failure) }
    const reason = `The provider refused it with status ${status}.`
    this.#deps.providerKeys.noteRefusal(key, reason)
    return { ...failure, fault: refused(key, failure) }
  }

  #serves(key: OpenProviderKey, model: Model): boolean {
    if (!this.#deps.providers.has(key.provider)) return false
    if (key.models) return key.models.includes(model.id)
    return Object.hasOwn(key.upstreamModels, model.id) || this.#twinOf(key, model) !== undefined
  }

  /** The platform's way to the model at the same address: what is known of its host holds for the customer's key too. */
  #twinOf(key: OpenProviderKey, model: Model): Offer | undefined {
    const address = this.#addressOf(key)
    return model.offers.find(({ channel }) => channel.provider === key.provider && this.#addressOf(channel) === address)
  }

  #addressOf({ provider, baseUrl, settings = NO_SETTINGS }: Addressed): string | undefined {
    const known = this.#deps.providers.get(provider)
    return known && baseUrlOf(known, { baseUrl, settings })
  }

  /** Made once for a key and a model as they are: both are replaced when they change. */
  #offerOf(key: UsableKey, model: Model): Offer {
    const byModel = this.#offers.get(key) ?? new WeakMap<Model, Offer>()
    this.#offers.set(key, byModel)
    const offer = byModel.get(model) ?? toOffer(key, model, { twin: this.#twinOf(key, model), fee: this.#deps.fee() })
    byModel.set(model, offer)
    this.#keys.set(offer.channel, key)
    return offer
  }
}

type Addressed = Pick<Channel, 'provider' | 'baseUrl'> & Partial<Pick<Channel, 'settings'>>

/** A customer brings a key and nothing else, so that only providers will do that want no more. */
const NO_SETTINGS: Channel['settings'] = Object.freeze({})

/** Statuses by which a provider says that it does not take a key. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403])

type UsableKey = OpenProviderKey & { readonly secret: string }

function isUsable(key: OpenProviderKey): key is UsableKey {
  return key.status === 'active' && key.secret !== undefined
}

function toOffer(key: UsableKey, model: Model, { twin, fee }: { twin: Offer | undefined; fee: Fee }): Offer {
  const [platform] = model.offers
  const { price, priceOrigin, capabilities, contextLength } = twin ?? (platform as Offer)
  return {
    channel: {
      id: key.id,
      name: key.name,
      provider: key.provider,
      baseUrl: key.baseUrl,
      credentials: [{ id: '1', key: key.secret, weight: 1, requestsPerMinute: undefined, concurrency: undefined }],
      // The operator's may be as secret as the operator's key.
      headers: {},
      settings: NO_SETTINGS,
      formats: twin?.channel.formats,
      tier: key.baseUrl === undefined ? 'official' : 'verified',
      timeouts: twin?.channel.timeouts ?? TIMEOUTS_DEFAULT,
      quirks: twin?.channel.quirks ?? {},
      isPrivate: true,
    },
    upstreamModel: Object.hasOwn(key.upstreamModels, model.id)
      ? (key.upstreamModels[model.id] as string)
      : (twin?.upstreamModel ?? model.id),
    price: toFeePrice(price, fee),
    priceOrigin,
    weight: undefined,
    capabilities,
    contextLength,
  }
}

const HINT = 'Give it another secret (POST /v1/management/provider-keys/{id}/rotate), or switch it off or delete it.'

function refused(key: OpenProviderKey, { status, fault }: Failure): Fault {
  return new Fault('access_denied', `The provider refused ${nameOf(key)} (${status}); it is not used any more.`, {
    hint: HINT.replace('{id}', key.id),
    cause: fault.cause ?? fault,
  })
}

function doubted(key: OpenProviderKey, { fault }: Failure): Fault {
  return new Fault(
    'access_denied',
    `The provider does not take ${nameOf(key)}, or does not know the model by this name.`,
    {
      hint: `Ask it: POST /v1/management/provider-keys/${key.id}/test.`,
      cause: fault.cause ?? fault,
    },
  )
}

function unusable(key: OpenProviderKey): Fault {
  const reason = key.status === 'active' ? 'What is stored of it cannot be read.' : key.disabledReason
  return new Fault('access_denied', `${nameOf(key, 'Your')} cannot be used. ${reason}`, {
    hint: HINT.replace('{id}', key.id),
  })
}

function unserved({ id }: Model): Fault {
  return new Fault('invalid_request', `No provider key of this workspace serves the model "${id}".`, {
    hint: 'Create one (POST /v1/management/provider-keys), or ask without the header "x-access-channel: byok".',
    param: 'x-access-channel',
  })
}

function nameOf({ id, name }: OpenProviderKey, your = 'your'): string {
  return `${your} provider key ${id} ("${name}")`
}
