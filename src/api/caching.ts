import { Fault } from '#core/fault.ts'
import type { RequestHeaders } from '#http/inbound/route.ts'
import type { CachingWish } from '#relay/call.ts'
import type { Principal } from '#tenants/principal.ts'

/** For how long answers are used where they are. */
export interface CachingTimes {
  /** Where neither the request nor its key says. */
  readonly ttlSecondsDefault: number
  readonly ttlSecondsMax: number
}

const MODES = ['use', 'refresh', 'off'] as const
const WHOLE_SECONDS = /^[1-9]\d{0,8}$/

/**
 * Whether a request may be answered with what was answered before: as its headers say, or else its key. Asking for a
 * time is asking for the cache.
 *
 * @throws Fault `invalid_request` naming the header
 */
export function cachingWish(
  headers: RequestHeaders,
  { cacheTtlSeconds: keyTtlSeconds }: Principal,
  { ttlSecondsDefault, ttlSecondsMax }: CachingTimes,
): CachingWish | undefined {
  const ttlSeconds = decodeTtl(headers['x-gateway-cache-ttl'], ttlSecondsMax)
  const isAsked = (ttlSeconds ?? keyTtlSeconds) !== undefined
  const mode = decodeMode(headers['x-gateway-cache']) ?? (isAsked ? 'use' : 'off')
  if (mode === 'off') return undefined
  const maxAgeSeconds = ttlSeconds ?? keyTtlSeconds ?? ttlSecondsDefault
  return { mode, maxAgeSeconds: Math.min(maxAgeSeconds, ttlSecondsMax) }
}

function decodeMode(value: RequestHeaders[string]): (typeof MODES)[number] | undefined {
  if (value === undefined) return undefined
  const mode = MODES.find(each => each === value)
  if (mode) return mode
  throw new Fault('invalid_request', `The header \`X-Gateway-Cache\` must be one of ${MODES.join(', ')}.`, {
    param: 'X-Gateway-Cache',
  })
}

function decodeTtl(value: RequestHeaders[string], ttlSecondsMax: number): number | undefined {
  if (value === undefined) return undefined
  const seconds = typeof value === 'string' && WHOLE_SECONDS.test(value) ? Number(value) : Number.NaN
  if (seconds <= ttlSecondsMax) return seconds
  const range = `a whole number of seconds from 1 to ${ttlSecondsMax}`
  throw new Fault('invalid_request', `The header \`X-Gateway-Cache-TTL\` must be ${range}.`, {
    param: 'X-Gateway-Cache-TTL',
  })
}
