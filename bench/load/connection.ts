import net, { type Socket } from 'node:net'
import { AnswerReader } from './answer-reader.ts'

/** How one request ended: `undefined` well, otherwise in what way not. */
export type Verdict = string | undefined

/** A keep-alive connection that carries one request at a time. */
export class Connection {
  readonly #socket: Socket
  readonly #reader = new AnswerReader()
  #answered: ((verdict: Verdict, events: number) => void) | undefined

  /** @param events that a good answer has */
  constructor(port: number, events: number) {
    this.#socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('data', bytes => {
      if (!this.#reader.push(bytes)) return
      const { status, events: seen } = this.#reader
      const isGood = status === 200 && seen === events
      this.#end(isGood ? undefined : `status ${status} with ${seen} events`, seen)
    })
    this.#socket.on('error', error => this.#end(error.message, 0))
    this.#socket.on('close', () => this.#end('the connection was closed', 0))
  }

  /** Events of the answer under way. */
  get events(): number {
    return this.#reader.events
  }

  get isBroken(): boolean {
    return this.#socket.destroyed
  }

  ask(request: Buffer, answered: (verdict: Verdict, events: number) => void): void {
    this.#answered = answered
    this.#socket.write(request)
  }

  close(): void {
    this.#socket.destroy()
  }

  #end(verdict: Verdict, events: number): void {
    const answered = this.#answered
    this.#answered = undefined
    answered?.(verdict, events)
  }
}
