import type { Fault } from './fault.ts'
import type { Scene } from './scene.ts'
import type { Usage } from './usage.ts'

/**
 * The seam between a family of endpoints (chat, embeddings, …) and the relay. A family says how large a request may
 * get, how to put it to an upstream and how to read what comes back; the relay, quota and metering know no family.
 */

/** One client request in the only terms that the relay needs. */
export interface Work {
  readonly scene: Scene
  /** Which of a provider's endpoints serves it. */
  readonly operation: Operation
  /** What the client speaks; an endpoint that speaks it too is preferred, because nothing is translated there. */
  readonly format: string
  /** The public model id that the client asked for. */
  readonly model: string
  readonly isStream: boolean
  /** Costs nothing and is not recorded. */
  readonly isFree?: true
  /** A fair guess of what the request will use, made without asking anyone; bounded by the model's limits. */
  estimate(limits: ModelLimits): Usage
  /** What the request may use at most, for what is set aside for it. Kinds of tokens that it cannot have are 0. */
  bound(limits: ModelLimits): Usage
  /** The request as `target` wants it, and the means to read its answer. Called once per attempt. */
  encode(target: Target): Exchange
  /** What serves when no upstream has an endpoint for it or one that works, where the gateway knows an answer itself. */
  answerWithoutUpstream?(limits: ModelLimits): Answer
  /**
   * Told of the bytes that complete a good answer, the whole of it or the end of a stream, once it is recorded; they
   * leave when this has resolved. Must not throw.
   */
  readonly beforeEnd?: ((lastBytes: Uint8Array) => Promise<void>) | undefined
}

export type Operation = 'chat' | 'embeddings' | 'token-count'

export interface ModelLimits {
  readonly contextLength: number | undefined
  readonly maxOutputTokens: number | undefined
}

/** One upstream endpoint, as an exchange needs to know it. */
export interface Target {
  /** The wire format that the upstream speaks at this endpoint, e.g. `chat-completions`. */
  readonly format: string
  /** What the upstream calls the model; `publicModel` is what our client calls it. */
  readonly upstreamModel: string
  readonly publicModel: string
  readonly quirks: Quirks
  /** Shown to the client as `_routing` when the operator wants that. */
  readonly routing: RoutingInfo | undefined
  /** What the operator says that the model can do, in free words (docs/configuration.md). */
  readonly capabilities?: readonly string[] | undefined
  /** What the model can take and say, for fields that the upstream's format wants and the client's does not. */
  readonly limits?: ModelLimits | undefined
}

/** Where upstreams that claim a format differ from it. Absent means: as the format says. */
export interface Quirks {
  /** `false`: the upstream refuses `stream_options`, so a stream brings no usage of its own. */
  readonly streamOptions?: boolean | undefined
  /** `false`: the upstream does not know how to give its reasoning out sealed. */
  readonly encryptedReasoning?: boolean | undefined
  /** `true`: the upstream takes how much to reason as a budget of tokens and knows no effort. */
  readonly reasoningBudget?: boolean | undefined
  /** `false`: the upstream refuses `temperature`, `top_p` and `top_k`. */
  readonly sampling?: boolean | undefined
  /** `false`: the upstream refuses an `id` on function calls and their results. */
  readonly functionIds?: boolean | undefined
  /** `false`: the upstream's models take a number of thinking tokens, and no level. */
  readonly thinkingLevels?: boolean | undefined
  /** `false`: the upstream refuses the placeholder that stands for the signature of a foreign function call. */
  readonly placeholderSignatures?: boolean | undefined
  /** `false`: the upstream knows schemas only as the subset of OpenAPI that was there before JSON schema. */
  readonly jsonSchemas?: boolean | undefined
  /** `false`: the upstream refuses tools that take free text, and their calls. */
  readonly customTools?: boolean | undefined
  /** `true`: the upstream takes ids of tool calls only with exactly nine letters and digits. */
  readonly shortToolIds?: boolean | undefined
  /** `true`: the upstream translates by `translation_options`; others are told in words. */
  readonly translationOptions?: boolean | undefined
}

/** The public `_routing` object (spec, "What the service does"). */
export interface RoutingInfo {
  readonly channel: {
    readonly id: string
    readonly name: string
    readonly provider: string
    readonly channelType: 'PLATFORM' | 'PRIVATE'
  }
  readonly cached: boolean
  readonly retryCount: number
}

/** One attempt's conversation with one upstream. */
export interface Exchange {
  /** The request body. */
  readonly body: Uint8Array
  /** Request headers that belong to the format, beside those of the provider. */
  readonly headers: Readonly<Record<string, string>>
  /** What of the request the upstream could not be told, a sentence each; the client hears of it in a header. */
  readonly warnings: readonly string[]
  /** A whole answer, ready for the client. @throws Fault when a success status carries an error or nonsense */
  decodeAnswer(bytes: Buffer): Answer
  /** What an error status of the upstream means to our client. */
  decodeFault(status: number, bytes: Buffer): Fault
  /** For the answer to a streaming request. */
  openStream(): StreamCodec
}

export interface Answer {
  readonly body: Uint8Array
  /** What of the upstream's answer the client could not be told, a sentence each. */
  readonly warnings?: readonly string[]
  readonly observed: Observed
}

/** What can be learned from an answer, whole or cut. */
export interface Observed {
  /** As the provider reported it; `undefined` when it did not. */
  readonly usage: Usage | undefined
  /** UTF-8 bytes of generated text, tool arguments included: the basis of an estimate when no usage came. */
  readonly outputBytes: number
  /** The provider said why it stopped: the answer is whole. */
  readonly isFinished: boolean
  /** What the provider calls the answer, where the client knows it under another id: for questions to the provider. */
  readonly upstreamId?: string
}

/**
 * Upstream bytes in, client bytes out, a chunk at a time and without looking back: memory is one frame, whatever the
 * length of the stream. The bytes that complete the answer come from `finish` alone, so that accounting can happen
 * before the client may believe that it has everything.
 */
export interface StreamCodec {
  /** What the client is told that it gets. */
  readonly contentType: string
  /** Shows a client that waits that the answer is still under way, and means nothing else. */
  readonly keepAlive: Uint8Array
  /** Client bytes that `chunk` completes; `undefined` when none are ready. Check `fault` after each call. */
  push(chunk: Buffer): Uint8Array | undefined
  /** Set once the upstream sent an error or nonsense; nothing more is read then. */
  readonly fault: Fault | undefined
  /** The upstream's end marker has come; its connection may still be open. */
  readonly hasEnded: boolean
  /** The upstream has closed: client bytes of an event that it left without its end. Call before judging the answer. */
  close(): Uint8Array | undefined
  /** The last bytes of a good answer. Call when `hasEnded`, or when the upstream closed after finishing. */
  finish(): Uint8Array
  /** An error in the caller's family, as an event of a stream already begun. */
  encodeFault(fault: Fault): Uint8Array
  readonly observed: Observed
}
