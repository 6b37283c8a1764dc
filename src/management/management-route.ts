import { bearerToken } from '#http/inbound/bearer-token.ts'
import { rateHeaders } from '#http/inbound/rate-headers.ts'
import { type AnyRoute, defineRoute, type Inbound, type Route, type RouteDocs } from '#http/inbound/route.ts'
import type { Vault } from '#lib/vault.ts'
import { rateFault } from '#quota/rate/fault.ts'
import type { Rates } from '#quota/rate/rates.ts'
import { orUnavailable } from '#storage/availability.ts'
import type { Database } from '#storage/database.ts'
import type { Authenticator } from '#tenants/authenticator.ts'
import type { CredentialHasher } from '#tenants/credential.ts'
import { type Manager, organizationRate, type RoleRates } from '#tenants/principal.ts'
import type { OpenProviderKey, TestOutcome } from '#tenants/provider-keys/provider-key.ts'

/** What it takes to know a caller. */
export interface CallerDeps {
  readonly authenticator: Authenticator
  readonly rates: Rates
  roleRates(): RoleRates
}

export interface ManagementDeps extends CallerDeps {
  readonly database: Database
  readonly hasher: CredentialHasher
  readonly vault: Vault
  /** Names of the adapters that exist. */
  readonly providers: ReadonlySet<string>
  /** What is wrong with an address that a customer names, as far as the address shows it. */
  objectionTo(url: URL): string | undefined
  /** Asks a key's provider, at no cost, whether it takes the key. */
  probe(key: OpenProviderKey): Promise<{ outcome: TestOutcome; status?: number; detail: string }>
}

export interface ManagementEndpoint extends Pick<Route, 'method' | 'path' | 'bodyBytesMax'> {
  handle(request: Inbound, manager: Manager): Promise<void>
  readonly docs: Omit<RouteDocs, 'security'>
}

/** A route for the caller of a management token. Unlike inference, it cannot be served while the database is away. */
export function managementRoute(deps: ManagementDeps, endpoint: ManagementEndpoint): AnyRoute {
  return defineRoute<Manager>({
    ...endpoint,
    authorize: request => admitManager(deps, request),
    handle: (request, manager) => orUnavailable(endpoint.handle(request, manager)),
    docs: { ...endpoint.docs, errors: [...endpoint.docs.errors, 429], security: 'management-token' },
  })
}

/** The caller of a management token, within its limits. @throws Fault `invalid_api_key` or `rate_limit_exceeded` */
export async function admitManager(deps: CallerDeps, request: Inbound): Promise<Manager> {
  return admit(deps, request, await deps.authenticator.management(bearerToken(request)))
}

/**
 * The organization's limit once more: what a dashboard asks is counted apart from inference, so that neither starves
 * the other.
 */
function admit({ rates, roleRates }: CallerDeps, { answerHeaders, facts }: Inbound, manager: Manager): Manager {
  const limit = organizationRate(manager, roleRates())
  const { standing, refused } = rates.decide([{ kind: 'management', id: manager.organizationId, limit }])
  Object.assign(answerHeaders, rateHeaders(standing))
  if (!refused) return manager
  facts.rate_limited = refused.subject.kind
  throw rateFault(refused)
}
