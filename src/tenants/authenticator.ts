import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { Fault } from '#core/fault.ts'
import { type Database, isUnavailable } from '#storage/database.ts'
import { type CredentialHasher, type CredentialKind, credentialKind } from './credential.ts'
import type { Manager, Principal } from './principal.ts'
import { type ApiKeyIdentity, identifyApiKey, identifyManagementToken, type ManagementTokenIdentity } from './store.ts'

const CACHED_MAX = 50_000
/** Read again after this, in case a change was never announced. */
const FRESH_MS = 60_000
/** While the change feed is behind, what was read may have been revoked since: it counts for this long only. */
const FRESH_WITHOUT_FEED_MS = 500
const FEED_LAG_MS_MAX = 2_500
/** With the database away, callers known this recently are still served. */
const STALE_MS_MAX = 5 * 60_000
const DATABASE_RETRY_SECONDS = 5

export interface AuthenticatorDeps {
  readonly database: Database
  readonly hasher: CredentialHasher
  /** How far this node's knowledge of changes lags behind the database. */
  feedLagMs(): number
}

type Identity = ({ kind: 'sk' } & ApiKeyIdentity) | ({ kind: 'mt' } & ManagementTokenIdentity)

interface Known {
  readonly kind: CredentialKind
  /** `undefined`: there is no such credential. */
  readonly identity: Identity | undefined
  readonly principal: Principal | undefined
  readonly readAtMs: number
}

/**
 * From a credential to its caller: the shape and checksum first, then memory, then one query. A caller seen before is
 * known without waiting, so that the warm path stays synchronous.
 */
export class Authenticator {
  readonly #deps: AuthenticatorDeps
  /**
   * By the credential's plain SHA-256: a ninth of the time of the hash under which it is stored, and as hard to turn
   * back, because a credential is random throughout.
   */
  readonly #known = new LRUCache<string, Known>({ max: CACHED_MAX })
  readonly #reading = new Map<string, Promise<Known>>()

  constructor(deps: AuthenticatorDeps) {
    this.#deps = deps
  }

  /**
   * The caller of an inference route.
   *
   * @param credential what was sent, or `undefined` when nothing was
   * @throws Fault `invalid_api_key` or `expired_api_key`
   */
  inference(credential: string | undefined): Principal | Promise<Principal> {
    const known = this.#identify(credential, 'sk')
    return known instanceof Promise ? known.then(admitKey) : admitKey(known)
  }

  /** The caller of a management route. @throws Fault as {@link inference} */
  management(credential: string | undefined): Manager | Promise<Manager> {
    const known = this.#identify(credential, 'mt')
    return known instanceof Promise ? known.then(admitManager) : admitManager(known)
  }

  /** Forgets what hangs on an id that has changed; a credential that was unknown may exist now. */
  forget(subject: string): void {
    for (const [digest, { identity }] of this.#known) {
      if (!identity || idsOf(identity).includes(subject)) this.#known.delete(digest)
    }
  }

  #identify(credential: string | undefined, wanted: CredentialKind): Known | Promise<Known> {
    if (credential === undefined || credential === '') throw missing(wanted)
    const digest = hash('sha256', credential, 'base64')
    const known = this.#fromMemory(digest)
    if (known?.kind === wanted) return known
    if (credentialKind(credential) !== wanted) throw unfit(credential, wanted)
    return this.#read(credential, digest, wanted)
  }

  #fromMemory(digest: string): Known | undefined {
    const known = this.#known.get(digest)
    if (!known) return undefined
    const isFeedCurrent = this.#deps.feedLagMs() < FEED_LAG_MS_MAX
    const ageMs = performance.now() - known.readAtMs
    return ageMs < (isFeedCurrent ? FRESH_MS : FRESH_WITHOUT_FEED_MS) ? known : undefined
  }

  /** Callers that arrive together with the same credential share one query. */
  #read(credential: string, digest: string, kind: CredentialKind): Promise<Known> {
    const underWay = this.#reading.get(digest)
    if (underWay) return underWay
    const reading = this.#query(credential, digest, kind).finally(() => this.#reading.delete(digest))
    this.#reading.set(digest, reading)
    return reading
  }

  async #query(credential: string, digest: string, kind: CredentialKind): Promise<Known> {
    const readAtMs = performance.now()
    try {
      const identity = await this.#lookUp(this.#deps.hasher.hash(credential), kind)
      const principal = identity?.kind === 'sk' ? principalOf(identity) : undefined
      const known: Known = { kind, identity, principal, readAtMs }
      this.#known.set(digest, known)
      return known
    } catch (cause) {
      if (!isUnavailable(cause)) throw cause
      const known = this.#known.get(digest)
      if (known && performance.now() - known.readAtMs < STALE_MS_MAX) return known
      throw new Fault('service_unavailable', 'The gateway cannot check API keys at the moment; try again shortly.', {
        retryAfterSeconds: DATABASE_RETRY_SECONDS,
        cause,
      })
    }
  }

  async #lookUp(hash: Buffer, kind: CredentialKind): Promise<Identity | undefined> {
    if (kind === 'sk') {
      const identity = await identifyApiKey(this.#deps.database, hash)
      return identity && { kind, ...identity }
    }
    const identity = await identifyManagementToken(this.#deps.database, hash)
    return identity && { kind, ...identity }
  }
}

function principalOf(identity: ApiKeyIdentity): Principal {
  const { keyId, workspaceId, organizationId, role, models, isLimited } = identity
  return Object.freeze({
    keyId,
    workspaceId,
    organizationId,
    role,
    models: models ?? undefined,
    isLimited,
    requestsPerMinute: identity.requestsPerMinute ?? undefined,
    organizationRequestsPerMinute: identity.organizationRequestsPerMinute ?? undefined,
  })
}

function idsOf(identity: Identity): string[] {
  const own = identity.kind === 'sk' ? identity.keyId : identity.tokenId
  return [own, identity.workspaceId, identity.organizationId]
}

function admitKey({ identity, principal }: Known): Principal {
  if (identity?.kind !== 'sk' || !principal) throw unknown('sk')
  if (identity.status === 'revoked') throw new Fault('expired_api_key', 'This API key has been revoked.')
  if (identity.status === 'inactive') throw new Fault('expired_api_key', 'This API key is switched off.')
  if (identity.expiresAt && identity.expiresAt.getTime() <= Date.now()) {
    throw new Fault('expired_api_key', `This API key expired at ${identity.expiresAt.toISOString()}.`)
  }
  return principal
}

function admitManager({ identity }: Known): Manager {
  if (identity?.kind !== 'mt') throw unknown('mt')
  if (identity.isRevoked) throw new Fault('expired_api_key', 'This management token has been revoked.')
  return { ...identity, organizationRequestsPerMinute: identity.organizationRequestsPerMinute ?? undefined }
}

const NOUNS = Object.freeze({ sk: 'API key', mt: 'management token' })

function missing(wanted: CredentialKind): Fault {
  return new Fault('invalid_api_key', `No ${NOUNS[wanted]} was sent.`, {
    hint: `Send the header "Authorization: Bearer ${wanted}-…".`,
  })
}

/** A credential of the wrong kind gets told so: it is the likeliest mistake with the clearest cure. */
function unfit(credential: string, wanted: CredentialKind): Fault {
  if (credential.startsWith('whsec_')) {
    return new Fault('invalid_api_key', 'A webhook signing secret is no credential; it only verifies webhooks.', {
      hint: `Use a ${NOUNS[wanted]} (${wanted}-…).`,
    })
  }
  const other = wanted === 'sk' ? 'mt' : 'sk'
  if (credential.startsWith(`${other}-`)) {
    const place = wanted === 'sk' ? 'inference' : 'management'
    return new Fault('invalid_api_key', `A${other === 'sk' ? 'n' : ''} ${NOUNS[other]} cannot be used for ${place}.`, {
      hint: `Use a${wanted === 'sk' ? 'n' : ''} ${NOUNS[wanted]} (${wanted}-…).`,
    })
  }
  return unknown(wanted)
}

function unknown(wanted: CredentialKind): Fault {
  return new Fault('invalid_api_key', `This ${NOUNS[wanted]} is not valid. Check that it was copied whole.`)
}
