/**
 * What one request consumed, in one vocabulary for all providers. `undefined` means that nobody told us; it is not
 * zero. Totals include their parts: `inputTokens` counts cached, cache-written and audio tokens too, `outputTokens`
 * counts reasoning and audio tokens.
 */
export interface Usage {
  readonly inputTokens?: number | undefined
  readonly cacheReadTokens?: number | undefined
  /** All cache writes, whatever their lifetime. */
  readonly cacheWriteTokens?: number | undefined
  readonly cacheWrite5mTokens?: number | undefined
  readonly cacheWrite1hTokens?: number | undefined
  readonly audioInputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly reasoningTokens?: number | undefined
  readonly audioOutputTokens?: number | undefined
  /** The provider's own total where it reports one. */
  readonly totalTokens?: number | undefined
}

/**
 * A token count as a provider reported it, or `undefined` when what it sent cannot be one (absent, null, negative,
 * fractional, NaN, text). A broken count must not become a charge.
 */
export function tokenCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
