import type { Call } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import type { Fault } from '#core/fault.ts'
import type { ModelCard } from '#core/model-card.ts'
import type { Result } from '#core/result.ts'
import type { Usage } from '#core/usage.ts'
import type { Answer, ModelLimits, StreamCodec, Target } from '#core/work.ts'
import type { Frame } from './sse/frame.ts'
import type { TokenMeasure } from './token-estimate.ts'

export type FormatName = 'chat-completions' | 'messages' | 'responses' | 'generate-content'

/**
 * A chat wire format: eight pure functions between its bytes' meaning and the neutral form, and a ninth seam for the
 * case that the client and the upstream speak the same format, in which nothing is translated.
 *
 * Codecs make no ids, read no clock and know no other format.
 */
export interface WireFormat {
  readonly name: FormatName

  /** client → neutral. @throws Fault `invalid_request` naming the field */
  decodeRequest(body: unknown): Call
  /** neutral → upstream; what the format cannot say is left out and named in `warnings`. */
  encodeRequest(call: Call, target: Target): EncodedRequest
  /** upstream → neutral. @throws Fault `upstream_error` when it is no answer of this format */
  decodeResponse(body: unknown): Result
  /** neutral → client */
  encodeResponse(result: Result, context: AnswerContext): Record<string, unknown>
  /** upstream stream → neutral events */
  decodeStream(): StreamDecoder
  /** neutral events → client stream */
  encodeStream(context: AnswerContext): StreamEncoder
  /** upstream error → neutral */
  decodeFault(status: number, body: unknown): Fault
  /** neutral → client error. @param requestId for formats whose errors name the request */
  encodeFault(fault: Fault, requestId?: string): { status: number; body: unknown }

  readonly passThrough: PassThrough
  /** For formats whose clients can ask how many tokens a request has. */
  readonly tokenCounting?: TokenCounting
  /** For formats that have their own way to list models; the gateway's own list is OpenAI's. */
  readonly modelListing?: ModelListing
}

export interface EncodedRequest {
  readonly body: Record<string, unknown>
  readonly warnings: readonly string[]
}

/** What an answer takes from the request it answers. */
export interface AnswerContext {
  /** The model as the client knows it. */
  readonly publicModel: string
  readonly wantsStreamUsage: boolean
  /** The client's request as it came, for formats whose answers repeat parts of it. */
  readonly request?: Readonly<Record<string, unknown>> | undefined
  /** What the request is thought to come to, for formats that tell before the upstream has counted. */
  readonly inputTokensEstimate?: number | undefined
  readonly stated?: Stated | undefined
}

/** Members of an answer that the gateway states, whatever an upstream says of them, where it keeps answers. */
export type Stated = { readonly id: string } & Readonly<Record<string, unknown>>

/** Fed every frame in order, then `end` once when the upstream closes. */
export interface StreamDecoder {
  push(frame: Frame): CallEvent[]
  end(): CallEvent[]
}

export interface StreamEncoder {
  /** An event of the format that means nothing, where clients expect one; a comment otherwise. */
  readonly keepAlive?: Frame
  push(event: CallEvent): Frame[]
}

/** A chat format whose clients can ask for the size of a request. */
export type CountingFormat = WireFormat & { readonly tokenCounting: TokenCounting }

/** The question how many tokens a chat request of the format has, and its answer. */
export interface TokenCounting {
  /** client → the chat request that it asks about, fit for `decodeRequest`. */
  readRequest(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>
  /** A chat request of the format → the question about it. */
  encodeRequest(request: Readonly<Record<string, unknown>>, target: Target): Readonly<Record<string, unknown>>
  /** @throws Fault `upstream_error` when it is no count */
  decodeAnswer(body: unknown): number
  encodeAnswer(tokens: number): Readonly<Record<string, unknown>>
}

/** What models there are, in a format's words. */
export interface ModelListing {
  encodeModel(model: ModelCard): Record<string, unknown>
  /** @param query which page of the list. @throws Fault `invalid_request` naming the parameter */
  encodeModels(models: readonly ModelCard[], query: URLSearchParams): Record<string, unknown>
}

/** A format whose vendor lists models in its own words. */
export type ListingFormat = WireFormat & { readonly modelListing: ModelListing }

/** Same format on both sides: bytes are edited where they must be and watched, otherwise kept as they are. */
export interface PassThrough {
  /** The few facts that the gateway reads of a request. @throws Fault `invalid_request` naming the field */
  readRequest(body: unknown): RequestFacts
  /** Replaces what is the gateway's to say: the model, stream options, what is kept; every other byte stays. */
  editRequest(bytes: Buffer, facts: RequestFacts, target: Target): Buffer
  /** @throws Fault when a success status carries an error or nonsense */
  editAnswer(bytes: Buffer, target: Target, stated?: Stated): Answer
  editStream(facts: RequestFacts, target: Target, stated?: Stated): StreamCodec
}

export interface RequestFacts {
  readonly model: string
  readonly isStream: boolean
  readonly wantsStreamUsage: boolean
  /** What is to be translated, where it is a text and not a question. */
  readonly translation?: Call['translation']
  /** @param measure whether to guess fairly or cautiously */
  estimate(limits: ModelLimits, measure?: TokenMeasure): Usage
}
