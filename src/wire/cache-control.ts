import type { CacheBreakpoint } from '#core/call.ts'
import { isObject } from './json/parse.ts'

/**
 * `cache_control` as Anthropic has it, and as hosts of its models take it in other formats as well. `undefined` for
 * a kind of cache that has no neutral meaning.
 */
export function decodeCache(control: unknown): CacheBreakpoint | undefined {
  if (!isObject(control) || control.type !== 'ephemeral') return undefined
  const { ttl } = control
  if (ttl === undefined || ttl === null) return {}
  return ttl === '5m' || ttl === '1h' ? { ttl } : undefined
}
