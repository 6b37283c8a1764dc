import type { Extensions, Part } from './call.ts'
import type { Usage } from './usage.ts'

/** A whole chat answer in no format's words. */
export interface Result {
  readonly id: string
  /** As the upstream names it; what the client is told is the public model id. */
  readonly model: string
  /** Unix seconds. */
  readonly createdAt: number
  readonly choices: readonly Choice[]
  readonly usage: Usage | undefined
  readonly serviceTier?: string | undefined
  readonly extensions: Extensions
}

export interface Choice {
  readonly index: number
  readonly parts: readonly Part[]
  readonly finish: Finish
  readonly logprobs?: readonly TokenLogprob[] | undefined
}

/** Why a choice ended: one meaning for all formats, and the provider's own word. */
export interface Finish {
  readonly reason: FinishReason
  readonly raw: string | undefined
  /** The sequence that stopped the model, where the provider says which it was. */
  readonly stopSequence?: string | undefined
}

export type FinishReason = 'stop' | 'stop-sequence' | 'length' | 'tool-calls' | 'refusal' | 'pause' | 'error' | 'other'

export interface TokenLogprob {
  readonly token: string
  readonly logprob: number
  readonly bytes?: readonly number[] | null | undefined
  readonly top: readonly Omit<TokenLogprob, 'top'>[]
}
