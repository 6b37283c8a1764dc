import type { Candidate } from './candidate.ts'
import type { Health } from './health.ts'
import type { Strategy } from './policy.ts'

export interface PreferenceInput {
  readonly health: Pick<Health, 'latencyMs'>
  readonly nowMs: number
  /** What the request would come to; for comparison only, so that a float does. */
  readonly costOf: (candidate: Candidate) => number
  /** The request is to meet the cache of those before it. */
  readonly isSticky: boolean
}

type Preference = (candidate: Candidate) => number

/** What a strategy makes of a candidate: the less the better. */
export function preferenceOf(strategy: Strategy, input: PreferenceInput): Preference {
  return PREFERENCES[strategy](input)
}

const PREFERENCES: Readonly<Record<Strategy, (input: PreferenceInput) => Preference>> = Object.freeze({
  weighted:
    () =>
    ({ place }) =>
      place,
  cheapest:
    ({ costOf }) =>
    candidate =>
      costOf(candidate),
  fastest: ({ health, nowMs, isSticky }) =>
    // A prompt that is found in a cache is answered sooner than anything else.
    isSticky ? () => 0 : candidate => speedClass(health.latencyMs(candidate, nowMs)),
})

/** Steps by which one has to be faster to count as faster. */
const STEP = Math.log(1.25)

/** Those of nearly the same speed are of one class. What nobody has measured comes first, or it would never be. */
function speedClass(latencyMs: number | undefined): number {
  return latencyMs === undefined ? -1 : Math.floor(Math.log(Math.max(1, latencyMs)) / STEP)
}
