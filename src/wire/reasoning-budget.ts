/** Parts of what a model can say that its thinking may take, by effort. */
const SHARES: Readonly<Record<string, number>> = Object.freeze({
  minimal: 0.02,
  low: 0.1,
  medium: 0.3,
  high: 0.6,
  xhigh: 0.9,
  max: 0.95,
})

/** Tokens for thinking that an effort comes to; `undefined` for an effort that is unknown, or none. */
export function budgetOfEffort(effort: string | undefined, outputTokensMax: number): number | undefined {
  const share = effort !== undefined && Object.hasOwn(SHARES, effort) ? SHARES[effort] : undefined
  return share === undefined ? undefined : Math.round(outputTokensMax * share)
}

/** What models can say where nobody tells: those that think say at least as much. */
const OUTPUT_TOKENS_USUAL = 32_000

/** The effort that comes nearest to a budget, of the three that every model knows that knows any. */
export function effortOfBudget(budgetTokens: number, outputTokensMax = OUTPUT_TOKENS_USUAL): string {
  const share = budgetTokens / outputTokensMax
  if (share < 0.2) return 'low'
  return share < 0.45 ? 'medium' : 'high'
}
