import { parseUsd } from '#core/money.ts'
import type { ApiKey } from '#tenants/store.ts'

/** What a key's owner reads; the last two are not stored, because they follow from the clock and the sums. */
export const KEY_STATUSES = ['active', 'inactive', 'revoked', 'expired', 'limit_reached'] as const
export type KeyStatus = (typeof KEY_STATUSES)[number]

/** @param used US dollars that the key has spent, an exact decimal */
export function keyStatus(key: ApiKey, used: string, nowMs = Date.now()): KeyStatus {
  if (key.status !== 'active') return key.status
  if (key.expiresAt && key.expiresAt.getTime() <= nowMs) return 'expired'
  if (key.limitAmount !== undefined && parseUsd(used) >= parseUsd(key.limitAmount)) return 'limit_reached'
  return 'active'
}
