import type { AnyRoute } from '#http/inbound/route.ts'
import { apiKeyUsage, type UsageDeps } from './api-key-usage.ts'

/** The control plane, whole. */
export function managementRoutes(deps: UsageDeps): AnyRoute[] {
  return [apiKeyUsage(deps)]
}
