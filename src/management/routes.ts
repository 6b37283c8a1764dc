import type { AnyRoute } from '#http/inbound/route.ts'
import { apiKeyUsage } from './api-key-usage.ts'
import type { ManagementDeps } from './management-route.ts'

/** The control plane, whole. */
export function managementRoutes(deps: ManagementDeps): AnyRoute[] {
  return [apiKeyUsage(deps)]
}
