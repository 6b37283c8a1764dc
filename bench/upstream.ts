import net, { type AddressInfo, type Socket } from 'node:net'
import { WHOLE_ANSWER } from './canned/chat-completions.ts'
import { CANNED, FORMATS, type Format } from './canned/formats.ts'
import type { CannedStream } from './canned/stream.ts'
import { Metronome } from './metronome.ts'
import { serveParent } from './rig/child.ts'

/** How the upstream streams from now on. */
export interface UpstreamPlan {
  /** Pieces of text in a stream, an event each. What a format has before the first comes at once, and so does its end. */
  readonly words: number
  /** Between two pieces of one stream; 0 sends them as fast as the socket takes them. */
  readonly intervalMs: number
}

/**
 * A provider that costs next to nothing: raw sockets, keep-alive, canned bytes. It answers with a whole completion, or
 * with a stream in the format that its path names, whose events are written one by one, so that a proxy meets them
 * separately.
 */
let plan: UpstreamPlan = { words: 198, intervalMs: 10 }
let metronome = new Metronome(plan.intervalMs)
/** Streams of the plan, made when first asked for. */
let canned = new Map<string, CannedStream>()

const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n'

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
    const head = bytes.toString('latin1', 0, bodyStart)
    if (bytes.length < bodyStart + contentLength(head)) return
    pending = undefined
    const answer = answerTo(head, bytes.toString('latin1', bodyStart))
    if (Buffer.isBuffer(answer)) socket.write(answer)
    else stream = new Stream(socket, answer)
  })
  socket.on('drain', () => stream?.drained())
  socket.on('close', () => stream?.stop())
  socket.on('error', () => socket.destroy())
}

function contentLength(head: string): number {
  return Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
}

function answerTo(head: string, body: string): Buffer | CannedStream {
  const path = head.slice(0, head.indexOf('\r\n'))
  const format = FORMATS.find(each => path.includes(CANNED[each].path)) ?? 'chat-completions'
  // Google's clients ask for a stream by the path, all others in the body.
  const isStream = format === 'generate-content' || body.includes('"stream":true')
  return isStream ? cannedStream(format, body.includes('"include_usage":true')) : WHOLE_ANSWER
}

function cannedStream(format: Format, hasUsage: boolean): CannedStream {
  const key = `${format} ${hasUsage}`
  const known = canned.get(key)
  if (known) return known
  const fresh = CANNED[format].stream({ words: plan.words, hasUsage })
  canned.set(key, fresh)
  return fresh
}

class Stream {
  readonly #socket: Socket
  readonly #canned: CannedStream
  readonly #plan = plan
  readonly #metronome = metronome
  #sent = 0
  #isOver = false

  constructor(socket: Socket, canned: CannedStream) {
    this.#socket = socket
    this.#canned = canned
    socket.write(STREAM_HEAD)
    if (this.#plan.intervalMs === 0) this.drained()
    else this.#metronome.join(this)
  }

  /** It is time for the next piece. */
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
    const { opening, words, closing } = this.#canned
    const index = this.#sent
    this.#sent += 1
    if (index === 0) return this.#send(opening)
    if (index <= this.#plan.words) return this.#socket.write(words[(index - 1) % words.length] as Buffer)
    this.#isOver = true
    return this.#send(closing)
  }

  #send(frames: readonly Buffer[]): boolean {
    return frames.map(frame => this.#socket.write(frame)).every(keepsUp => keepsUp)
  }
}

const server = net.createServer(serve)
server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => {
  serveParent<UpstreamPlan>((server.address() as AddressInfo).port, next => {
    plan = next
    canned = new Map()
    metronome.stop()
    metronome = new Metronome(plan.intervalMs)
  })
})
