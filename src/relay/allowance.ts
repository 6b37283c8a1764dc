import { textTokens } from '#wire/token-estimate.ts'

/** How many tokens more a stream is covered for at a time. */
const SLICE_TOKENS = 1_024

/**
 * How much of a stream is covered by what was set aside for it. Its output is counted as it is charged when nobody
 * reports a count, so that what the client has got when nothing is left to pay for more is what was set aside.
 */
export class Allowance {
  readonly #extend: (tokens: number) => Promise<void> | undefined
  #tokens: number

  /**
   * @param outputTokens what is covered to begin with
   * @param extend sets more aside; `undefined` when that is done at once, a rejection with a `Fault` when there is none
   */
  constructor(outputTokens: number, extend: (tokens: number) => Promise<void> | undefined) {
    this.#tokens = outputTokens
    this.#extend = extend
  }

  /** Sees to it that so much output is covered. @returns `undefined` when it is; otherwise the stream has to wait */
  cover(outputBytes: number): Promise<void> | undefined {
    while (textTokens(outputBytes) > this.#tokens) {
      this.#tokens += SLICE_TOKENS
      const waiting = this.#extend(SLICE_TOKENS)
      if (waiting) return waiting
    }
    return undefined
  }
}
