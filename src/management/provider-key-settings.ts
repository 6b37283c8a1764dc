import { Type } from 'typebox'
import { violationFinder } from '#core/validate.ts'
import { FALLBACKS, type ProviderKeySettings } from '#tenants/provider-keys/provider-key.ts'
import type { ProviderKeyChanges } from '#tenants/provider-keys/store.ts'
import { type BodyOptions, parseBody } from './body.ts'
import type { ManagementDeps } from './management-route.ts'
import { decodeModels, decodeName, decodeSettings, type SettingDecoders } from './settings.ts'

const NAME_CHARACTERS_MAX = 50
const SECRET_CHARACTERS_MAX = 16_384
const URL_CHARACTERS_MAX = 500
const MODELS_MAX = 1_000
const MODEL_CHARACTERS_MAX = 200
const PRIORITY_MAX = 1_000_000

const Model = Type.String({ minLength: 1, maxLength: MODEL_CHARACTERS_MAX })

const SETTINGS = {
  name: Type.Optional(Type.String({ minLength: 1, maxLength: NAME_CHARACTERS_MAX })),
  models: Type.Optional(
    Type.Union([Type.Array(Model, { maxItems: MODELS_MAX }), Type.Null()], {
      description: 'Models that it serves; none or null: those that the platform reaches at the same address',
    }),
  ),
  upstream_models: Type.Optional(
    Type.Union([Type.Record(Type.String(), Model, { maxProperties: MODELS_MAX }), Type.Null()], {
      description: 'What the provider calls a model, by the id that callers use',
    }),
  ),
  priority: Type.Optional(
    Type.Integer({ minimum: 0, maximum: PRIORITY_MAX, description: 'Lower is tried first; 0 unless given' }),
  ),
  fallback: Type.Optional(
    Type.Enum(FALLBACKS, { description: "Whether the platform's own channels serve what it could not; none" }),
  ),
}

const SECRET = Type.String({
  minLength: 1,
  maxLength: SECRET_CHARACTERS_MAX,
  description: "The provider's key, or a credential of several parts as a JSON object; never shown again",
})

const closed = { additionalProperties: false }

export const NewProviderKeySchema = Type.Object(
  {
    provider: Type.String(),
    key: SECRET,
    base_url: Type.Optional(
      Type.String({
        maxLength: URL_CHARACTERS_MAX,
        description: "https, at public addresses; fixed for good; the provider's own unless given",
      }),
    ),
    ...SETTINGS,
  },
  closed,
)

/** What is absent stays, null clears. */
export const ProviderKeyChangesSchema = Type.Object(
  { ...SETTINGS, status: Type.Optional(Type.Enum(['active', 'inactive'])) },
  closed,
)

export const NewSecretSchema = Type.Object({ key: SECRET }, closed)

const BODY: BodyOptions = {
  spellings: { api_key: 'key', apiKey: 'key', baseUrl: 'base_url', upstreamModels: 'upstream_models' },
  amounts: [],
}

const FIND_VIOLATIONS = {
  new: violationFinder(NewProviderKeySchema),
  changes: violationFinder(ProviderKeyChangesSchema),
  secret: violationFinder(NewSecretSchema),
}

const DECODERS: SettingDecoders<ProviderKeyChanges> = {
  name: { setting: 'name', decode: decodeName },
  models: { setting: 'models', decode: decodeModels },
  upstream_models: { setting: 'upstreamModels', decode: decodeUpstreamModels },
  priority: { setting: 'priority', decode: (priority: number) => priority },
  fallback: { setting: 'fallback', decode: (fallback: string) => fallback },
  status: { setting: 'status', decode: (status: string) => status },
}

/** Everything that is said of a new key. */
export interface NewProviderKey extends ProviderKeySettings {
  readonly provider: string
  readonly secret: string
  readonly baseUrl: string | undefined
}

/** What a new key has that its owner does not speak of. */
export const PROVIDER_KEY_DEFAULTS = Object.freeze({
  models: undefined,
  upstreamModels: {},
  priority: 0,
  fallback: 'none',
} satisfies Omit<ProviderKeySettings, 'name'>)

/** @throws Fault `invalid_request` that names every wrong field */
export function decodeNewProviderKey(
  bytes: Buffer,
  { providers, objectionTo }: Pick<ManagementDeps, 'providers' | 'objectionTo'>,
): NewProviderKey {
  const body = parseBody(bytes, BODY)
  const decoders: SettingDecoders<NewProviderKey> = {
    ...DECODERS,
    provider: { setting: 'provider', decode: (name: string) => knownProvider(name, providers) },
    key: { setting: 'secret', decode: decodeSecret },
    base_url: { setting: 'baseUrl', decode: (text: string) => decodeBaseUrl(text, objectionTo) },
  }
  const given = decodeSettings(body, FIND_VIOLATIONS.new(body), decoders)
  return {
    baseUrl: undefined,
    name: given.provider,
    ...PROVIDER_KEY_DEFAULTS,
    ...withoutCleared(given),
  } as NewProviderKey
}

/** @throws Fault `invalid_request` that names every wrong field */
export function decodeProviderKeyChanges(bytes: Buffer): ProviderKeyChanges {
  const body = parseBody(bytes, BODY)
  const changes = decodeSettings(body, FIND_VIOLATIONS.changes(body), DECODERS)
  return 'upstreamModels' in changes ? { ...changes, upstreamModels: changes.upstreamModels ?? {} } : changes
}

/** @throws Fault `invalid_request` that names every wrong field */
export function decodeNewSecret(bytes: Buffer): string {
  const body = parseBody(bytes, BODY)
  const decoders: SettingDecoders<NewProviderKey> = { key: { setting: 'secret', decode: decodeSecret } }
  return decodeSettings(body, FIND_VIOLATIONS.secret(body), decoders).secret as string
}

function withoutCleared<S extends object>(settings: S): Partial<S> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as Partial<S>
}

function knownProvider(name: string, providers: ReadonlySet<string>): string {
  if (providers.has(name)) return name
  throw new RangeError(`must be one of ${[...providers].toSorted().join(', ')}`)
}

/** A key travels in a header, where a line break would begin another one; a credential of several parts does not. */
export function decodeSecret(text: string): string {
  const secret = text.trim()
  if (secret.startsWith('{')) return isJson(secret) ? secret : unfitSecret('must be whole JSON where it begins with {')
  if (secret === '') return unfitSecret('must not be empty')
  if (/^[\x21-\x7e]+$/.test(secret)) return secret
  return unfitSecret('must be a key of visible ASCII characters without spaces, or a JSON object')
}

function unfitSecret(problem: string): never {
  throw new RangeError(problem)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** @param objectionTo what the outbound guard says of it */
export function decodeBaseUrl(text: string, objectionTo: ManagementDeps['objectionTo']): string {
  if (!URL.canParse(text)) throw new RangeError('must be a URL like https://api.example.com/v1')
  const url = new URL(text)
  if (url.search !== '') throw new RangeError('must not contain a query')
  const objection = objectionTo(url)
  if (objection !== undefined) throw new RangeError(objection)
  return url.href.replace(/\/+$/, '')
}

function decodeUpstreamModels(models: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (
    Object.entries(models)
      .flat()
      .some(text => /\p{Cc}/u.test(text))
  ) {
    throw new RangeError('must not contain control characters')
  }
  return models
}
