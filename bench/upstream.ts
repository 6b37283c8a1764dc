import net, { type AddressInfo, type Socket } from 'node:net'
import { DONE_FRAME, PLAIN_FRAMES, STREAM_HEAD, USAGE_FRAME, USAGE_FRAMES, WHOLE_ANSWER } from './canned.ts'
import { Metronome } from './metronome.ts'
import { serveParent } from './rig/child.ts'

/** How the upstream streams from now on. */
export interface UpstreamPlan {
  /** Data events of a stream before usage and `[DONE]`: the role, the words, the finish reason. */
  readonly chunks: number
  /** Between two chunks of one stream; 0 sends them as fast as the socket takes them. */
  readonly intervalMs: number
}

/**
 * A provider that costs next to nothing: raw sockets, keep-alive, canned bytes. It answers with a whole completion, or
 * with a stream whose chunks are written one by one, so that a proxy meets them separately.
 */
let plan: UpstreamPlan = { chunks: 200, intervalMs: 10 }
let metronome = new Metronome(plan.intervalMs)

const HEADER_END = Buffer.from('\r\n\r\n')

/** One connection: requests one after another, each answered before the next is read. */
function serve(socket: Socket): void {
  socket.setNoDelay(true)
  let pending: Buffer | undefined
  let stream: Stream | undefined
  socket.on('data', data => {
    const bytes = pending ? Buffer.concat([pending, data]) : data
    pending = bytes
    const headEnd = bytes.indexOf(HEADER_END)
    if (headEnd === -1) return
    const bodyStart = headEnd + HEADER_END.length
    if (bytes.length < bodyStart + contentLength(bytes.toString('latin1', 0, bodyStart))) return
    pending = undefined
    const body = bytes.toString('latin1', bodyStart)
    if (body.includes('"stream":true')) stream = new Stream(socket, body.includes('"include_usage":true'))
    else socket.write(WHOLE_ANSWER)
  })
  socket.on('drain', () => stream?.drained())
  socket.on('close', () => stream?.stop())
  socket.on('error', () => socket.destroy())
}

function contentLength(head: string): number {
  return Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
}

class Stream {
  readonly #socket: Socket
  readonly #hasUsage: boolean
  readonly #plan = plan
  readonly #metronome = metronome
  #sent = 0
  #isOver = false

  constructor(socket: Socket, hasUsage: boolean) {
    this.#socket = socket
    this.#hasUsage = hasUsage
    socket.write(STREAM_HEAD)
    if (this.#plan.intervalMs === 0) this.drained()
    else this.#metronome.join(this)
  }

  /** It is time for the next chunk. */
  beat(): void {
    this.#sendNext()
    if (this.#isOver) this.#metronome.leave(this)
  }

  drained(): void {
    if (this.#plan.intervalMs > 0) return
    let keepsUp = true
    while (keepsUp && !this.#isOver) keepsUp = this.#sendNext()
  }

  stop(): void {
    this.#isOver = true
    this.#metronome.leave(this)
  }

  #sendNext(): boolean {
    const { first, words, finish } = this.#hasUsage ? USAGE_FRAMES : PLAIN_FRAMES
    const index = this.#sent
    this.#sent += 1
    if (index === 0) return this.#socket.write(first)
    if (index < this.#plan.chunks - 1) return this.#socket.write(words[index % words.length] as Buffer)
    this.#isOver = true
    this.#socket.write(finish)
    if (this.#hasUsage) this.#socket.write(USAGE_FRAME)
    return this.#socket.write(DONE_FRAME)
  }
}

const server = net.createServer(serve)
server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => {
  serveParent<UpstreamPlan>((server.address() as AddressInfo).port, next => {
    plan = next
    metronome.stop()
    metronome = new Metronome(plan.intervalMs)
  })
})
