import type { AnyRoute } from '#http/inbound/route.ts'
import { apiKeyUsage } from './api-key-usage.ts'
import { apiKeys } from './api-keys.ts'
import { balance } from './balance.ts'
import { ledgerEntries } from './ledger-entries.ts'
import type { ManagementDeps } from './management-route.ts'
import { providerKeys } from './provider-keys.ts'
import { type ResponseCacheDeps, responseCache } from './response-cache.ts'
import { usage } from './usage.ts'
import { usageExport } from './usage-export.ts'

/** The control plane, whole. */
export function managementRoutes(deps: ManagementDeps & ResponseCacheDeps): AnyRoute[] {
  return [
    ...apiKeys(deps),
    ...providerKeys(deps),
    apiKeyUsage(deps),
    balance(deps),
    ledgerEntries(deps),
    usage(deps),
    usageExport(deps),
    responseCache(deps),
  ]
}
