import net from 'node:net'

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const PATIENCE_MS = 5_000

/** A client that sends bytes as they are and reads answers one after another. */
export class RawClient {
  readonly #socket: net.Socket
  #received: Buffer = Buffer.alloc(0)
  #isClosed = false
  #wake = () => {}

  private constructor(socket: net.Socket) {
    this.#socket = socket
    socket.on('data', chunk => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#wake()
    })
    // A refused upload may be reset while it is being sent; what was answered before has been read by then.
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#isClosed = true
      this.#wake()
    })
  }

  static async connect(url: string): Promise<RawClient> {
    const { hostname, port } = new URL(url)
    const socket = net.connect({ host: hostname, port: Number(port), noDelay: true })
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    return new RawClient(socket)
  }

  get socket(): net.Socket {
    return this.#socket
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Bytes that came and belong to no answer that was read. */
  get unread(): string {
    return this.#received.toString('latin1')
  }

  write(bytes: string | Uint8Array): void {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  }

  /** The next whole answer; `undefined` when the connection closes without one. @throws after `withinMs` */
  async answer({ withinMs = PATIENCE_MS, isToHead = false } = {}): Promise<RawAnswer | undefined> {
    return this.#until('an answer', withinMs, () => {
      const taken = takeAnswer(this.#received, { isClosed: this.#isClosed, isToHead })
      if (taken) this.#received = taken.rest
      return taken?.answer ?? (this.#isClosed ? 'closed' : undefined)
    }).then(answer => (answer === 'closed' ? undefined : answer))
  }

  /** Resolves when the server has closed the connection. @throws after `withinMs` */
  async closed(withinMs = PATIENCE_MS): Promise<void> {
    await this.#until('the end of the connection', withinMs, () => this.#isClosed || undefined)
  }

  /** Resolves when `text` has come, as part of an answer or not. @throws after `withinMs` */
  async received(text: string, withinMs = PATIENCE_MS): Promise<void> {
    await this.#until(`"${text}"`, withinMs, () => this.unread.includes(text) || undefined)
  }

  close(): void {
    this.#socket.destroy()
  }

  async #until<T>(what: string, withinMs: number, probe: () => T | undefined): Promise<T> {
    const deadlineMs = performance.now() + withinMs
    for (;;) {
      const value = probe()
      if (value !== undefined) return value
      const leftMs = deadlineMs - performance.now()
      if (leftMs <= 0) throw new Error(`${what} did not come within ${withinMs} ms; received: ${this.unread}`)
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, leftMs)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
}

/** @param isToHead the answer to a HEAD request announces a body and has none */
function takeAnswer(
  bytes: Buffer,
  { isClosed, isToHead }: { isClosed: boolean; isToHead: boolean },
): { answer: RawAnswer; rest: Buffer } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  const status = Number(statusLine.split(' ')[1])
  const headers = Object.fromEntries(
    lines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const start = headEnd + 4
  if (status === 100 || isToHead) return { answer: { status, headers, body: '' }, rest: bytes.subarray(start) }
  const length = headers['content-length']
  if (length !== undefined) {
    const end = start + Number(length)
    if (bytes.length < end) return undefined
    return { answer: { status, headers, body: bytes.toString('utf8', start, end) }, rest: bytes.subarray(end) }
  }
  if (headers['transfer-encoding'] === 'chunked') {
    const taken = takeChunks(bytes, start)
    return taken && { answer: { status, headers, body: taken.body }, rest: bytes.subarray(taken.end) }
  }
  return isClosed
    ? { answer: { status, headers, body: bytes.toString('utf8', start) }, rest: bytes.subarray(bytes.length) }
    : undefined
}

function takeChunks(bytes: Buffer, start: number): { body: string; end: number } | undefined {
  const pieces: Buffer[] = []
  let at = start
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd === -1) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    const end = lineEnd + 2 + size
    if (bytes.length < end + 2) return undefined
    if (size === 0) return { body: Buffer.concat(pieces).toString('utf8'), end: end + 2 }
    pieces.push(bytes.subarray(lineEnd + 2, end))
    at = end + 2
  }
}
