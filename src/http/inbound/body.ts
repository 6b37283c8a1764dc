import type { IncomingMessage, ServerResponse } from 'node:http'
import { Fault } from '#core/fault.ts'
import { Roster, type RosterMember } from '#lib/roster.ts'

const RATE_WINDOW_MS = 10_000
const RATE_BYTES_PER_SECOND_MIN = 1_000
const SWEEP_MS = 2_000
/** How long a refused upload may go on: cutting it at once would lose our answer in the client's send buffer. */
const LINGER_MS = 2_000

interface Upload extends RosterMember {
  windowStartMs: number
  windowBytes: number
  abort(): void
}

/** Reads request bodies: bounded in size before and while reading, and in slowness by a minimum rate. */
export class BodyReader {
  readonly #uploads = new Roster<Upload>()
  readonly #sweeper: NodeJS.Timeout

  constructor() {
    this.#sweeper = setInterval(() => this.#sweep(performance.now()), SWEEP_MS).unref()
  }

  /**
   * The whole body.
   *
   * @throws Fault `payload_too_large` before a byte is read when the length is declared, `request_timeout` when the
   *   client sends less than 1 kB/s over ten seconds, `invalid_request` when it breaks off
   */
  read(request: IncomingMessage, response: ServerResponse, bytesMax: number): Promise<Buffer> {
    const declared = request.headers['content-length']
    if (declared !== undefined && Number(declared) > bytesMax) {
      this.discard(request)
      return Promise.reject(tooLarge(bytesMax))
    }
    // HTTP/1.0 knows no interim answers and would take this one for the answer (RFC 9110, 10.1.1).
    if (request.headers.expect !== undefined && request.httpVersion === '1.1') response.writeContinue()
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      let bytes = 0
      const refuse = (fault: Fault) => {
        this.#uploads.delete(upload)
        chunks.length = 0
        request.removeAllListeners('data')
        this.discard(request)
        reject(fault)
      }
      const upload: Upload = {
        rosterIndex: -1,
        windowStartMs: performance.now(),
        windowBytes: 0,
        abort: () => refuse(new Fault('request_timeout', 'The request body arrived too slowly.')),
      }
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        upload.windowBytes += chunk.length
        if (bytes > bytesMax) refuse(tooLarge(bytesMax))
        else chunks.push(chunk)
      })
      request.on('end', () => {
        this.#uploads.delete(upload)
        resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
      })
      request.on('close', () => {
        if (this.#uploads.delete(upload)) reject(new Fault('invalid_request', 'The request body was cut off.'))
      })
      this.#uploads.add(upload)
    })
  }

  close(): void {
    clearInterval(this.#sweeper)
  }

  #sweep(nowMs: number): void {
    for (const upload of this.#uploads.list()) {
      const elapsedMs = nowMs - upload.windowStartMs
      if (elapsedMs < RATE_WINDOW_MS) continue
      if (upload.windowBytes < (RATE_BYTES_PER_SECOND_MIN * elapsedMs) / 1000) upload.abort()
      upload.windowStartMs = nowMs
      upload.windowBytes = 0
    }
  }

  /** Lets go of a body that nobody will read: what still arrives is dropped, and after a while cut off. */
  discard(request: IncomingMessage): void {
    request.resume()
    const timer = setTimeout(() => request.socket.destroy(), LINGER_MS).unref()
    request.once('end', () => clearTimeout(timer))
  }
}

function tooLarge(bytesMax: number): Fault {
  return new Fault(
    'payload_too_large',
    `The request body is larger than ${bytesMax} bytes, the limit of this endpoint.`,
  )
}
