import { bearerToken } from '#http/inbound/bearer-token.ts'
import { type AnyRoute, defineRoute, type Inbound, type Route, type RouteDocs } from '#http/inbound/route.ts'
import { orUnavailable } from '#storage/availability.ts'
import type { Database } from '#storage/database.ts'
import type { Authenticator } from '#tenants/authenticator.ts'
import type { CredentialHasher } from '#tenants/credential.ts'
import type { Manager } from '#tenants/principal.ts'

export interface ManagementDeps {
  readonly authenticator: Authenticator
  readonly database: Database
  readonly hasher: CredentialHasher
}

export interface ManagementEndpoint extends Pick<Route, 'method' | 'path' | 'bodyBytesMax'> {
  handle(request: Inbound, manager: Manager): Promise<void>
  readonly docs: Omit<RouteDocs, 'security'>
}

/** A route for the caller of a management token. Unlike inference, it cannot be served while the database is away. */
export function managementRoute({ authenticator }: ManagementDeps, endpoint: ManagementEndpoint): AnyRoute {
  return defineRoute<Manager>({
    ...endpoint,
    authorize: request => authenticator.management(bearerToken(request)),
    handle: (request, manager) => orUnavailable(endpoint.handle(request, manager)),
    docs: { ...endpoint.docs, security: 'management-token' },
  })
}
