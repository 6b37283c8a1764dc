import { Fault } from '#core/fault.ts'
import type { SinkWatcher } from '#core/sink.ts'
import type { StreamCodec } from '#core/work.ts'
import type { OutboundObserver, Outgoing, ResponseHeaders } from '#http/outbound/client.ts'
import type { OutboundFailure } from '#http/outbound/failure.ts'
import type { RosterMember } from '#lib/roster.ts'
import { answerHeaders } from './answer-headers.ts'
import { type AttemptInput, type AttemptTiming, startTiming } from './call.ts'
import { ErrorBody } from './error-body.ts'
import type { Reply } from './failed-attempt.ts'
import { type Failure, failureOfConnection, failureOfStatus, withRetryAfter } from './failure.ts'

export type StreamOutcome =
  /** Nothing has reached the client: another upstream may be tried. */
  | {
      readonly kind: 'failed'
      readonly failure: Failure
      readonly reply: Reply | undefined
      readonly timing: AttemptTiming
    }
  /** Nothing had been produced when the client went away. */
  | { readonly kind: 'gone'; readonly reply: Reply | undefined; readonly timing: AttemptTiming }
  /** All but the last bytes are with the client; `codec.finish()` has those. */
  | { readonly kind: 'completed'; readonly codec: StreamCodec; readonly timing: AttemptTiming }
  /** The answer broke off after it had begun. */
  | { readonly kind: 'cut'; readonly codec: StreamCodec; readonly fault: Fault; readonly timing: AttemptTiming }
  /** Nothing was left to pay for more. */
  | { readonly kind: 'stopped'; readonly codec: StreamCodec; readonly fault: Fault; readonly timing: AttemptTiming }
  | { readonly kind: 'client-gone'; readonly codec: StreamCodec; readonly timing: AttemptTiming }

/** What the attempt is doing with the bytes that arrive. */
type Phase = 'waiting' | 'error-body' | 'streaming' | 'over'

const STREAM_HEADERS = {
  'cache-control': 'no-cache',
  // Asks nginx and its kin not to gather events into larger pieces.
  'x-accel-buffering': 'no',
}

/**
 * Asks one upstream for a stream and passes it on as it comes. The first bytes open the client's stream: that is the
 * commit point, before which a failure is no more than a failed attempt. A client that reads slowly slows the upstream
 * down; one that goes away ends it.
 */
export class StreamAttempt implements OutboundObserver, SinkWatcher, RosterMember {
  rosterIndex = -1
  readonly #input: AttemptInput
  readonly #codec: StreamCodec
  readonly #timing = startTiming()
  readonly #deferred = Promise.withResolvers<StreamOutcome>()
  readonly #outgoing: Outgoing
  readonly #errorBody = new ErrorBody()
  #phase: Phase = 'waiting'
  /** The client's stream is open: what fails now fails in it. */
  #isCommitted = false
  /** The client does not keep up. */
  #isPaused = false
  /** More has to be set aside before more may come. */
  #isUncovered = false
  /** Nothing has been sent since the last look. */
  #isSilent = false
  #status = 0
  #headers: ResponseHeaders = {}

  constructor(input: AttemptInput) {
    this.#input = input
    this.#codec = input.exchange.openStream()
    input.call.sink.watch(this)
    this.#outgoing = input.outbound.send(input.request, this)
    if (input.call.sink.isGone) this.gone()
  }

  get outcome(): Promise<StreamOutcome> {
    return this.#deferred.promise
  }

  /** Gives up: the gateway is shutting down. */
  stop(fault: Fault): void {
    this.#breakOff({ kind: 'final', fault })
  }

  /**
   * Called at a steady pace: shows the client, and every proxy on the way to it, that a silent answer is still under
   * way. Only once the upstream has begun to answer: before, another one may still be tried.
   */
  breakSilence(): void {
    if (this.#isSilent && this.#phase === 'streaming' && !this.#isPaused) this.#send(this.#codec.keepAlive)
    this.#isSilent = true
  }

  started(status: number, headers: ResponseHeaders): void {
    this.#timing.firstByteAtMs = performance.now()
    this.#status = status
    this.#headers = headers
    this.#phase = status >= 200 && status < 300 && mayBeEvents(headers) ? 'streaming' : 'error-body'
  }

  data(chunk: Buffer): void {
    if (this.#phase === 'error-body') return this.#errorBody.push(chunk)
    if (this.#phase !== 'streaming') return
    const output = this.#codec.push(chunk)
    if (output) this.#pass(output)
    if (this.#codec.fault) this.#breakOff({ kind: 'uncertain', fault: this.#codec.fault })
    // The upstream may leave its connection open; what ends the answer has come.
    else if (this.#codec.hasEnded) this.#complete()
    else this.#cover()
  }

  ended(): void {
    if (this.#phase === 'error-body') return this.#fail(this.#failureOfBody())
    const output = this.#codec.close()
    if (output) this.#pass(output)
    if (this.#codec.observed.isFinished) this.#complete()
    else this.#breakOff({ kind: 'uncertain', fault: this.#codec.fault ?? endedEarly() })
  }

  failed(failure: OutboundFailure): void {
    // Everything but the goodbye has come: the answer is whole.
    if (this.#codec.observed.isFinished) return this.ended()
    this.#breakOff(failureOfConnection(failure))
  }

  drained(): void {
    this.#isPaused = false
    if (!this.#isUncovered) this.#outgoing.resume()
  }

  gone(): void {
    if (this.#hasOutput) this.#finish({ kind: 'client-gone', codec: this.#codec, timing: this.#timing })
    else this.#finish({ kind: 'gone', reply: this.#reply, timing: this.#timing })
  }

  get #hasOutput(): boolean {
    return this.#timing.firstOutputAtMs > 0
  }

  #pass(output: Uint8Array): void {
    if (!this.#hasOutput) this.#timing.firstOutputAtMs = performance.now()
    this.#send(output)
  }

  #send(bytes: Uint8Array): void {
    const { sink, facts } = this.#input.call
    if (!this.#isCommitted) {
      this.#isCommitted = true
      const headers = { 'content-type': this.#codec.contentType, ...STREAM_HEADERS }
      sink.open(200, answerHeaders(headers, this.#input.exchange))
      facts.is_stream = true
    }
    this.#isSilent = false
    if (sink.write(bytes)) return
    this.#isPaused = true
    this.#outgoing.pause()
  }

  /** Goes on while what has come is paid for. */
  #cover(): void {
    const { allowance } = this.#input
    if (!allowance || this.#isUncovered) return
    const waiting = allowance.cover(this.#codec.observed.outputBytes)
    if (!waiting) return
    this.#isUncovered = true
    this.#outgoing.pause()
    waiting.then(
      () => {
        this.#isUncovered = false
        if (!this.#isPaused) this.#outgoing.resume()
      },
      error => this.#finish({ kind: 'stopped', codec: this.#codec, fault: Fault.from(error), timing: this.#timing }),
    )
  }

  /** The upstream has said everything, which may be nothing. */
  #complete(): void {
    if (this.#hasOutput) this.#finish({ kind: 'completed', codec: this.#codec, timing: this.#timing })
    else this.#breakOff({ kind: 'uncertain', fault: endedEarly() })
  }

  #failureOfBody(): Failure {
    const { exchange } = this.#input
    const isSuccess = this.#status >= 200 && this.#status < 300
    const fault = exchange.decodeFault(this.#status, this.#errorBody.bytes)
    if (isSuccess) return { kind: 'uncertain', fault }
    return withRetryAfter(failureOfStatus(this.#status, fault), this.#headers['retry-after'])
  }

  /** Before the commit point a failed attempt, after it a broken answer. */
  #breakOff(failure: Failure): void {
    if (!this.#isCommitted) return this.#fail(failure)
    this.#finish({ kind: 'cut', codec: this.#codec, fault: failure.fault, timing: this.#timing })
  }

  get #reply(): Reply | undefined {
    return this.#status === 0 ? undefined : { status: this.#status, headers: this.#headers }
  }

  #fail(failure: Failure): void {
    this.#finish({ kind: 'failed', failure, reply: this.#reply, timing: this.#timing })
  }

  #finish(outcome: StreamOutcome): void {
    if (this.#phase === 'over') return
    this.#phase = 'over'
    this.#timing.endedAtMs = performance.now()
    this.#input.call.sink.watch(undefined)
    // After a whole answer the connection may serve again, so it is let run out, even if it was held back.
    if (outcome.kind === 'completed') this.#outgoing.resume()
    else this.#outgoing?.abort()
    this.#deferred.resolve(outcome)
  }
}

/** What may follow a request for a stream and is none: an error or a whole answer, some proxy's page. */
const NO_EVENTS = /^(application\/json|text\/html)/i

/** A provider that answers a stream request with something else has something else to say than a stream. */
function mayBeEvents({ 'content-type': type, 'content-encoding': encoding = 'identity' }: ResponseHeaders): boolean {
  return !NO_EVENTS.test(String(type)) && encoding === 'identity'
}

function endedEarly(): Fault {
  return new Fault('upstream_error', 'The model provider ended the stream before the answer was whole.')
}
