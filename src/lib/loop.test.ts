import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Loop, type LoopOptions } from './loop.ts'

/** A pause that no test sits out. */
const LONG_MS = 20_000

/** Runs that begin when the loop says and end when the test says. */
class Runs {
  readonly signals: AbortSignal[] = []
  readonly errors: unknown[] = []
  #begun = Promise.withResolvers<void>()
  #under: PromiseWithResolvers<void> | undefined
  #most = 0
  #open = 0

  get count(): number {
    return this.signals.length
  }

  /** The most runs that were under way at one time. */
  get most(): number {
    return this.#most
  }

  /** When the next run has begun. */
  get begun(): Promise<void> {
    return this.#begun.promise
  }

  options(intervalMs = LONG_MS): LoopOptions {
    return {
      name: 'test duty',
      intervalMs,
      runOnce: async signal => {
        this.signals.push(signal)
        this.#open += 1
        this.#most = Math.max(this.#most, this.#open)
        this.#under = Promise.withResolvers<void>()
        this.#begun.resolve()
        this.#begun = Promise.withResolvers<void>()
        try {
          await this.#under.promise
        } finally {
          this.#open -= 1
        }
      },
      onError: (error, name) => this.errors.push([name, error]),
    }
  }

  finish(): void {
    this.#under?.resolve()
  }

  fail(error: Error): void {
    this.#under?.reject(error)
  }
}

describe('Loop', { timeout: 5_000 }, () => {
  it('runs at once when it is started, and again when its interval has passed', async () => {
    const runs = new Runs()
    const loop = new Loop(runs.options(1))
    loop.start()
    assert.equal(runs.count, 1)
    for (let i = 2; i < 5; i++) {
      const { begun } = runs
      runs.finish()
      await begun
      assert.equal(runs.count, i)
    }
    runs.finish()
    await loop.stop()
    assert.equal(runs.most, 1)
  })

  it('is woken from its pause', async () => {
    const runs = new Runs()
    const loop = new Loop(runs.options())
    loop.start()
    const { begun } = runs
    runs.finish()
    // The pause begins a few turns after the run's end; a wake before it counts as well.
    setImmediate(() => loop.wake())
    await begun
    assert.equal(runs.count, 2)
    runs.finish()
    await loop.stop()
  })

  it('does not lose a wake that comes during a run, and never runs twice at a time', async () => {
    const runs = new Runs()
    const loop = new Loop(runs.options())
    loop.start()
    loop.wake()
    loop.wake()
    const { begun } = runs
    runs.finish()
    await begun
    assert.equal(runs.count, 2)
    assert.equal(runs.most, 1)
    runs.finish()
    await loop.stop()
  })

  it('goes on after a run that failed, and tells of it by name', async () => {
    const runs = new Runs()
    const loop = new Loop(runs.options(1))
    loop.start()
    const { begun } = runs
    const error = new Error('no')
    runs.fail(error)
    await begun
    assert.deepEqual(runs.errors, [['test duty', error]])
    runs.finish()
    await loop.stop()
  })

  it('waits for the run under way when it is stopped, and runs no more', async () => {
    const runs = new Runs()
    const loop = new Loop(runs.options(1))
    loop.start()
    let isStopped = false
    const stopping = loop.stop().then(() => {
      isStopped = true
    })
    assert.equal(runs.signals[0]?.aborted, true)
    await new Promise(setImmediate)
    assert.equal(isStopped, false)
    runs.finish()
    await stopping
    await new Promise(setImmediate)
    assert.equal(runs.count, 1)
  })

  it('does not report a run that failed because it was stopped', async () => {
    const runs = new Runs()
    const loop = new Loop(runs.options())
    loop.start()
    const stopping = loop.stop()
    runs.fail(new Error('aborted'))
    await stopping
    assert.deepEqual(runs.errors, [])
  })

  it('may be stopped twice, before its start, and started again', async () => {
    const runs = new Runs()
    const loop = new Loop(runs.options())
    await loop.stop()
    loop.start()
    loop.start()
    assert.equal(runs.count, 1)
    runs.finish()
    await Promise.all([loop.stop(), loop.stop()])
    loop.start()
    assert.equal(runs.count, 2)
    runs.finish()
    await loop.stop()
  })
})
