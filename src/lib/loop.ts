import { setTimeout as sleep } from 'node:timers/promises'

export interface LoopOptions {
  /** Said in errors, e.g. `usage shipping`. */
  readonly name: string
  /** Pause between the end of one run and the start of the next, unless `wake` cuts it short. */
  readonly intervalMs: number
  /** One pass. It must be safe to repeat; a throw is reported and the loop goes on. */
  runOnce(signal: AbortSignal): Promise<void>
  onError(error: unknown, name: string): void
}

/**
 * A background duty: start, run once after another, stop. Stopping waits for the run under way; it is no error, and
 * is safe twice or before the start. Runs of one loop never overlap.
 */
export class Loop {
  readonly #options: LoopOptions
  #stopping: AbortController | undefined
  #pause = new AbortController()
  #finished: Promise<void> = Promise.resolve()

  constructor(options: LoopOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#stopping) return
    const stopping = new AbortController()
    this.#stopping = stopping
    this.#finished = this.#run(stopping.signal)
  }

  /** Ends the current pause: there is work now. */
  wake(): void {
    this.#pause.abort()
  }

  async stop(): Promise<void> {
    this.#stopping?.abort()
    this.wake()
    await this.#finished
    this.#stopping = undefined
  }

  async #run(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      // Armed before the run, so that a wake during it is not lost: the next pause then ends at once.
      this.#pause = new AbortController()
      try {
        await this.#options.runOnce(stopping)
      } catch (error) {
        if (!stopping.aborted) this.#options.onError(error, this.#options.name)
      }
      if (stopping.aborted) return
      await sleep(this.#options.intervalMs, undefined, { signal: this.#pause.signal }).catch(() => {})
    }
  }
}
