import { decodeFrames, type Frame } from './frames.ts'

/** What went over the wire for one call of an SDK. */
export class Exchange {
  /** The request's body, as the SDK wrote it. */
  sent = ''
  status = 0
  headers = new Headers()
  readonly #received: Uint8Array[] = []

  /** For the `fetch` option that each SDK has. */
  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    this.sent = String(init?.body ?? '')
    const response = await fetch(input, init)
    this.status = response.status
    this.headers = response.headers
    const keep = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        this.#received.push(chunk)
        controller.enqueue(chunk)
      },
    })
    const { status, statusText, headers } = response
    return new Response(response.body?.pipeThrough(keep) ?? null, { status, statusText, headers })
  }

  /** What the gateway said that the upstream could not be told. */
  get warnings(): string[] {
    const header = this.headers.get('x-gateway-warnings')
    return header === null ? [] : header.split('; ')
  }

  /** The answer's body, as it came. */
  get received(): string {
    return Buffer.concat(this.#received).toString()
  }

  get frames(): Frame[] {
    return decodeFrames(this.received)
  }
}
