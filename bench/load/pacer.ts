import { isMainThread, Worker, workerData } from 'node:worker_threads'

/** The waiting thread has to start first. */
const FIRST_DUE_MS = 50

interface Pace {
  /** Events a second, on average. */
  readonly rate: number
  readonly durationMs: number
}

interface Shared {
  readonly dueMs: Float64Array<SharedArrayBuffer>
  /** How many have become due. */
  readonly signal: Int32Array<SharedArrayBuffer>
}

/** The machine's clock, which all threads share; each has a `performance.now()` of its own. */
function clockMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/**
 * Moments with exponentially distributed gaps, as independent clients make them; the same ones every time. A second
 * thread waits for them: Node's timers have steps of a millisecond, in which several requests would leave together.
 */
export class Pacer {
  readonly #shared: Shared

  constructor({ rate, durationMs }: Pace) {
    const gaps = exponentialGaps(Math.floor((rate * durationMs) / 1000), 1000 / rate)
    const dueMs = new Float64Array(new SharedArrayBuffer(gaps.length * Float64Array.BYTES_PER_ELEMENT))
    let atMs = clockMs() + FIRST_DUE_MS
    for (const [i, gap] of gaps.entries()) {
      atMs += gap
      dueMs[i] = atMs
    }
    const signal = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
    this.#shared = { dueMs, signal }
  }

  /** Calls `beat` once a moment, with the moment by `performance.now()`. */
  async run(beat: (dueMs: number) => void): Promise<void> {
    const { dueMs, signal } = this.#shared
    const offsetMs = performance.now() - clockMs()
    const worker = new Worker(import.meta.filename, { workerData: this.#shared })
    for (let done = 0; done < dueMs.length; ) {
      const wait = Atomics.waitAsync(signal, 0, done)
      if (wait.async) await wait.value
      for (const due = Atomics.load(signal, 0); done < due; done++) beat((dueMs[done] as number) + offsetMs)
    }
    await worker.terminate()
  }
}

/** A fixed seed: all proxies meet the same bursts. */
function exponentialGaps(count: number, meanMs: number): number[] {
  let state = 0x2545f491
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return -Math.log((state + 1) / 2 ** 32) * meanMs
  })
}

/** The waiting thread: sleeps until the next moment, then wakes the other. */
function keepPace({ dueMs, signal }: Shared): void {
  const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  for (const [i, due] of dueMs.entries()) {
    const restMs = due - clockMs()
    if (restMs > 0) Atomics.wait(never, 0, 0, restMs)
    Atomics.store(signal, 0, i + 1)
    Atomics.notify(signal, 0)
  }
}

if (!isMainThread) keepPace(workerData as Shared)
