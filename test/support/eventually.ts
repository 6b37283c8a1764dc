import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 20

/**
 * Waits until `probe` returns something other than `undefined`.
 *
 * @throws what `probe` threw last, or a sentence with `what`, when the time is over
 */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined> | T | undefined,
  withinMs = 15_000,
): Promise<T> {
  const deadlineMs = performance.now() + withinMs
  let lastError: unknown
  while (performance.now() < deadlineMs) {
    try {
      const value = await probe()
      if (value !== undefined) return value
      lastError = undefined
    } catch (error) {
      lastError = error
    }
    await sleep(POLL_MS)
  }
  throw lastError ?? new Error(`${what} did not happen within ${withinMs} ms`)
}
