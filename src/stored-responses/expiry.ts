/** A conversation that goes on touches its responses once in this part of the time that they are kept, not at each turn. */
const STEPS = 30

/** Until when to keep what is stored or needed now: the given time, rounded up to whole steps. */
export function expiryOf(nowMs: number, keptMs: number): Date {
  const stepMs = stepOf(keptMs)
  return new Date(Math.ceil((nowMs + keptMs) / stepMs) * stepMs)
}

/** As {@link expiryOf} for what something that is yet to be stored rests upon: it must not end before that. */
export function prolongedExpiryOf(nowMs: number, keptMs: number): Date {
  return expiryOf(nowMs + stepOf(keptMs), keptMs)
}

/** The longest time by which what is kept outlives the time that it should be kept. */
export function stepOf(keptMs: number): number {
  return Math.ceil(keptMs / STEPS)
}
