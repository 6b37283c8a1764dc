import { Fault } from '#core/fault.ts'
import type { Answer } from '#core/work.ts'
import type { OutboundObserver, Outgoing, ResponseHeaders } from '#http/outbound/client.ts'
import type { OutboundFailure } from '#http/outbound/failure.ts'
import type { RosterMember } from '#lib/roster.ts'
import { type AttemptInput, type AttemptTiming, startTiming } from './call.ts'
import type { Reply } from './failed-attempt.ts'
import { type Failure, failureOfConnection, failureOfStatus, withRetryAfter } from './failure.ts'

/** An answer is held whole until its usage is recorded, so its size is bounded. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

export type WholeOutcome =
  | { readonly kind: 'answered'; readonly answer: Answer; readonly timing: AttemptTiming }
  | {
      readonly kind: 'failed'
      readonly failure: Failure
      readonly reply: Reply | undefined
      readonly timing: AttemptTiming
    }
  /** The client went away; the upstream was aborted, and nothing of its answer was used. */
  | { readonly kind: 'gone'; readonly reply: Reply | undefined; readonly timing: AttemptTiming }

/** Asks one upstream for an answer in one piece. Nothing reaches the client here. */
export class WholeAttempt implements OutboundObserver, RosterMember {
  rosterIndex = -1
  readonly #input: AttemptInput
  readonly #timing = startTiming()
  readonly #deferred = Promise.withResolvers<WholeOutcome>()
  readonly #outgoing: Outgoing
  #chunks: Buffer[] = []
  #bytes = 0
  #status = 0
  #headers: ResponseHeaders = {}

  constructor(input: AttemptInput) {
    this.#input = input
    const { sink } = input.call
    sink.watch({
      drained: () => {},
      gone: () => this.#finish({ kind: 'gone', reply: this.#reply, timing: this.#timing }),
    })
    this.#outgoing = input.outbound.send(input.request, this)
    if (sink.isGone) this.#finish({ kind: 'gone', reply: this.#reply, timing: this.#timing })
  }

  get outcome(): Promise<WholeOutcome> {
    return this.#deferred.promise
  }

  /** Gives up: the gateway is shutting down. */
  stop(fault: Fault): void {
    this.#fail({ kind: 'final', fault })
  }

  started(status: number, headers: ResponseHeaders): void {
    this.#timing.firstByteAtMs = performance.now()
    this.#status = status
    this.#headers = headers
  }

  data(chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#chunks.push(chunk)
    if (this.#bytes <= ANSWER_BYTES_MAX) return
    this.#fail({
      kind: 'uncertain',
      fault: new Fault('upstream_error', 'The model provider sent an answer that is too large.'),
    })
  }

  ended(): void {
    const bytes = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks)
    const { exchange } = this.#input
    if (this.#status < 200 || this.#status >= 300) {
      const failure = failureOfStatus(this.#status, exchange.decodeFault(this.#status, bytes))
      return this.#fail(withRetryAfter(failure, this.#headers['retry-after']))
    }
    try {
      this.#finish({ kind: 'answered', answer: exchange.decodeAnswer(bytes), timing: this.#timing })
    } catch (error) {
      this.#fail({ kind: 'uncertain', fault: Fault.from(error) })
    }
  }

  failed(failure: OutboundFailure): void {
    this.#fail(failureOfConnection(failure))
  }

  get #reply(): Reply | undefined {
    return this.#status === 0 ? undefined : { status: this.#status, headers: this.#headers }
  }

  #fail(failure: Failure): void {
    this.#finish({ kind: 'failed', failure, reply: this.#reply, timing: this.#timing })
  }

  #finish(outcome: WholeOutcome): void {
    this.#timing.endedAtMs = performance.now()
    this.#input.call.sink.watch(undefined)
    this.#chunks = []
    this.#outgoing?.abort()
    this.#deferred.resolve(outcome)
  }
}
