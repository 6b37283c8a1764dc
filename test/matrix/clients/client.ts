import type { Answer, Conversation, Format, StopReason, Usage } from '../conversation.ts'
import type { Exchange } from '../exchange.ts'
import type { Frame } from '../frames.ts'

/** Whole or streamed. */
export type Way = 'whole' | 'stream'

/** One call of an SDK. */
export interface Ask {
  readonly baseUrl: string
  readonly apiKey: string
  readonly model: string
  readonly conversation: Conversation
  readonly exchange: Exchange
  readonly signal?: AbortSignal
  /** Called when the first words of a stream have come. */
  readonly onText?: () => void
}

/** A format as its official SDK speaks it. */
export interface Client {
  readonly format: Format
  ask(way: Way, ask: Ask): Promise<Answer>
  /** What the SDK raised, in one shape. */
  describe(error: unknown): Raised
  /** The order of events that the SDK, and others for the format, rely on. @throws AssertionError */
  assertOrder(frames: readonly Frame[]): void
  /** The class that the SDK raises when an error arrives in the middle of a stream. */
  readonly midwayKind: string
  /** What the format calls an ending. */
  readonly stopWords: Readonly<Record<StopReason, string>>
  /** The counts that the format has a place for; those of which it must say something are 0 where nobody told. */
  readonly counts: Readonly<Partial<Record<keyof Usage, 'where told' | 'always'>>>
}

/** An SDK's error. */
export interface Raised {
  /** The class, as one writes it in an `instanceof`. */
  readonly kind: string
  readonly status: number | undefined
  /** The word by which programs of this family tell errors apart. */
  readonly code: string | undefined
  readonly message: string
}
