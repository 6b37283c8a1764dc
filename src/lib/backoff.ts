export interface BackoffOptions {
  readonly firstMs: number
  readonly maxMs: number
}

/**
 * Pause before try number `attempt` (0 = the first repeat): doubling up to `maxMs`, then drawn from its upper half,
 * so that many nodes that failed together do not return together.
 *
 * @param random from 0 up to 1, as `Math.random`
 */
export function backoffMs(
  attempt: number,
  { firstMs, maxMs }: BackoffOptions,
  random: () => number = Math.random,
): number {
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 30))
  return Math.round(full / 2 + (full / 2) * random())
}
