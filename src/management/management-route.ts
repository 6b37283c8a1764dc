import { bearerToken } from '#http/inbound/bearer-token.ts'
import { rateHeaders } from '#http/inbound/rate-headers.ts'
import { type AnyRoute, defineRoute, type Inbound, type Route, type RouteDocs } from '#http/inbound/route.ts'
import { rateFault } from '#quota/rate/fault.ts'
import type { Rates } from '#quota/rate/rates.ts'
import { orUnavailable } from '#storage/availability.ts'
import type { Database } from '#storage/database.ts'
import type { Authenticator } from '#tenants/authenticator.ts'
import type { CredentialHasher } from '#tenants/credential.ts'
import { type Manager, organizationRate, type RoleRates } from '#tenants/principal.ts'

export interface ManagementDeps {
  readonly authenticator: Authenticator
  readonly rates: Rates
  roleRates(): RoleRates
  readonly database: Database
  readonly hasher: CredentialHasher
}

export interface ManagementEndpoint extends Pick<Route, 'method' | 'path' | 'bodyBytesMax'> {
  handle(request: Inbound, manager: Manager): Promise<void>
  readonly docs: Omit<RouteDocs, 'security'>
}

/** A route for the caller of a management token. Unlike inference, it cannot be served while the database is away. */
export function managementRoute(deps: ManagementDeps, endpoint: ManagementEndpoint): AnyRoute {
  return defineRoute<Manager>({
    ...endpoint,
    authorize: async request => admit(deps, request, await deps.authenticator.management(bearerToken(request))),
    handle: (request, manager) => orUnavailable(endpoint.handle(request, manager)),
    docs: { ...endpoint.docs, errors: [...endpoint.docs.errors, 429], security: 'management-token' },
  })
}

/**
 * The organization's limit once more: what a dashboard asks is counted apart from inference, so that neither starves
 * the other.
 */
function admit({ rates, roleRates }: ManagementDeps, { answerHeaders, facts }: Inbound, manager: Manager): Manager {
  const limit = organizationRate(manager, roleRates())
  const { standing, refused } = rates.decide([{ kind: 'management', id: manager.organizationId, limit }])
  Object.assign(answerHeaders, rateHeaders(standing))
  if (!refused) return manager
  facts.rate_limited = refused.subject.kind
  throw rateFault(refused)
}
