import type { DeliveryPolicy } from '#core/delivery.ts'
import type { Capability } from '#core/traits.ts'
import type { Candidate } from './candidate.ts'

/** What the policy lets deliver; what the caller brought is not the gateway's to choose. */
export function deliveringAs(policy: DeliveryPolicy, candidates: readonly Candidate[]): readonly Candidate[] {
  if (policy === 'auto') return candidates
  return candidates.filter(({ offer, isPrivate }) => isPrivate || offer.channel.tier === policy)
}

/** Those that can do all that is needed, or of which nobody said what they can. */
export function capableOf(needs: readonly Capability[], candidates: readonly Candidate[]): readonly Candidate[] {
  if (needs.length === 0) return candidates
  return candidates.filter(candidate => needs.every(need => can(candidate, need)))
}

/** What none of them can do; where each lacks something else, all that any of them lacks. */
export function missingFrom(needs: readonly Capability[], candidates: readonly Candidate[]): readonly Capability[] {
  const lackedByAll = needs.filter(need => !candidates.some(candidate => can(candidate, need)))
  if (lackedByAll.length > 0) return lackedByAll
  return needs.filter(need => !candidates.every(candidate => can(candidate, need)))
}

/**
 * Those whose context is long enough. The length is a guess, so it decides only where there is a choice: where it leaves
 * nobody, the upstream may judge.
 */
export function roomyFor(inputTokens: number, candidates: readonly Candidate[]): readonly Candidate[] {
  const roomy = candidates.filter(({ offer }) => inputTokens <= (offer.contextLength ?? Number.POSITIVE_INFINITY))
  return roomy.length > 0 ? roomy : candidates
}

function can({ offer }: Candidate, need: Capability): boolean {
  return offer.capabilities?.has(need) ?? true
}
