/** A figure of every round. */
export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const upper = sorted[Math.floor(middle)] ?? Number.NaN
  const lower = sorted[Math.ceil(middle) - 1] ?? Number.NaN
  return { median: (lower + upper) / 2, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN }
}

/** Of CPU times the lowest is the one that others disturbed least. */
export function bestOf(values: readonly number[]): number {
  return Math.min(...values)
}

/** A ratio of each round; their median is what counts. */
export function ratios(numerators: readonly number[], denominators: readonly number[]): number[] {
  return numerators.map((each, round) => each / (denominators[round] ?? Number.NaN))
}

export function differences(minuends: readonly number[], subtrahends: readonly number[]): number[] {
  return minuends.map((each, round) => each - (subtrahends[round] ?? Number.NaN))
}
