/** Enough of an upstream's error to read what it says; the rest of a runaway one is dropped. */
const BYTES_MAX = 64 * 1024

/** Collects the start of a body. */
export class ErrorBody {
  readonly #chunks: Buffer[] = []
  #bytes = 0

  push(chunk: Buffer): void {
    if (this.#bytes >= BYTES_MAX) return
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks).subarray(0, BYTES_MAX)
  }
}
