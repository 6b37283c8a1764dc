import type { Offer } from '#catalog/catalog.ts'
import type { Candidate } from '#routing/candidate.ts'
import type { Health } from '#routing/health.ts'
import type { RoutingPolicy } from '#routing/policy.ts'
import type { RetryBudget } from '#routing/retry-budget.ts'
import { concernsAccount } from '#routing/symptom.ts'
import type { Failure } from './failure.ts'

/** Attempts beyond this help nobody: the client has waited long enough. */
const ATTEMPTS_MAX = 3

export interface FailoverInput {
  /** To be tried in this order. */
  readonly order: readonly Candidate[]
  readonly health: Pick<Health, 'nowMs' | 'readyAtMs'>
  readonly retries: RetryBudget
  readonly policy: Pick<RoutingPolicy, 'retriesUncertain' | 'retryShare'>
  /** @returns the failure when the client has seen nothing; otherwise the call is over */
  attempt(candidate: Candidate, retryCount: number): Promise<Failure | undefined>
}

/**
 * Tries one candidate after another until one has begun to answer. What may have been done, and billed, is done again
 * at most once, and only if the operator wants it.
 *
 * @returns the last failure, when all that was tried has failed
 */
export async function failOver(input: FailoverInput): Promise<Failure | undefined> {
  const { order, health, retries, policy } = input
  const failedOffers = new Set<Offer>()
  let mayRepeat = policy.retriesUncertain
  let tried = 0
  let failure: Failure | undefined
  retries.requested(health.nowMs())
  for (const candidate of order) {
    if (failure) {
      const nowMs = health.nowMs()
      // Another key does not help where the host is down; and what was well may be out since.
      if (failedOffers.has(candidate.offer) || health.readyAtMs(candidate, nowMs) > nowMs) continue
      if (tried === ATTEMPTS_MAX || !retries.take(nowMs, policy.retryShare)) return failure
    }
    failure = await input.attempt(candidate, tried++)
    if (!failure || failure.kind === 'final') return failure
    if (failure.kind === 'uncertain') {
      if (!mayRepeat) return failure
      mayRepeat = false
    }
    if (!failure.symptom || !concernsAccount(failure.symptom)) failedOffers.add(candidate.offer)
  }
  return failure
}
