import type { HeaderMap, Sink, SinkWatcher } from '#core/sink.ts'

/** A good answer as its client got it. */
export interface Recorded {
  readonly headers: HeaderMap
  readonly body: Buffer
}

/**
 * Passes everything on to the client, and keeps a copy of what is sent.
 *
 * Signs of life of a silent stream are among it: they mean nothing, the second time as little as the first.
 */
export class RecordingSink implements Sink {
  readonly #client: Sink
  readonly #extraHeaders: HeaderMap
  readonly #bytesMax: number
  #status = 0
  #headers: HeaderMap = {}
  /** `undefined`: it has become too long to be kept. */
  #pieces: Uint8Array[] | undefined = []
  #bytes = 0
  #hasEnded = false

  /** @param extraHeaders sent to this client, and not part of what is recorded */
  constructor(client: Sink, { extraHeaders, bytesMax }: { extraHeaders: HeaderMap; bytesMax: number }) {
    this.#client = client
    this.#extraHeaders = extraHeaders
    this.#bytesMax = bytesMax
  }

  /** `undefined`: there was no good answer, its client did not wait for its end, or it is too long. */
  get recorded(): Recorded | undefined {
    if (this.#status !== 200 || !this.#hasEnded || this.#client.isGone || !this.#pieces) return undefined
    return { headers: this.#headers, body: Buffer.concat(this.#pieces) }
  }

  get isOpen(): boolean {
    return this.#client.isOpen
  }

  get isGone(): boolean {
    return this.#client.isGone
  }

  send(status: number, headers: HeaderMap, body: Uint8Array): void {
    this.#begin(status, headers)
    this.#record(body)
    this.#hasEnded = true
    this.#client.send(status, { ...headers, ...this.#extraHeaders }, body)
  }

  open(status: number, headers: HeaderMap): void {
    this.#begin(status, headers)
    this.#client.open(status, { ...headers, ...this.#extraHeaders })
  }

  write(bytes: Uint8Array): boolean {
    this.#record(bytes)
    return this.#client.write(bytes)
  }

  end(bytes?: Uint8Array): void {
    if (bytes) this.#record(bytes)
    this.#hasEnded = true
    this.#client.end(bytes)
  }

  destroy(): void {
    this.#client.destroy()
  }

  watch(watcher: SinkWatcher | undefined): void {
    this.#client.watch(watcher)
  }

  #begin(status: number, headers: HeaderMap): void {
    this.#status = status
    this.#headers = headers
  }

  #record(bytes: Uint8Array): void {
    this.#bytes += bytes.length
    if (this.#bytes > this.#bytesMax) this.#pieces = undefined
    this.#pieces?.push(bytes)
  }
}
