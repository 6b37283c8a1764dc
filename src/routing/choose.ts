import type { Candidate } from './candidate.ts'
import type { Health } from './health.ts'

/** What a choice is made from: all of it is given, so that the choice itself is a function of its arguments. */
export interface Question {
  /** Those that could serve the request. */
  readonly candidates: readonly Candidate[]
  readonly health: Pick<Health, 'readyAtMs' | 'lastResort'>
  readonly nowMs: number
  /** What the strategy puts first has the least. Candidates that it holds for equal are drawn by their weights. */
  readonly preference: (candidate: Candidate) => number
  /** From 0 up to 1: by chance, or the same for all requests of a conversation. */
  readonly draw: (seed: number) => number
}

export interface Choice {
  /** To be tried in this order; empty: nobody is to be asked now. */
  readonly order: readonly Candidate[]
  /** When the first of those that are out comes back, as far as that is known; only where the order is empty. */
  readonly readyAtMs: number
}

interface Ranked {
  readonly candidate: Candidate
  readonly tier: number
  readonly preference: number
  readonly score: number
}

/** Whom to ask, in order: what the caller brought, then by tier, by strategy, by weight. */
export function choose({ candidates, health, nowMs, preference, draw }: Question): Choice {
  let soonestMs = Number.POSITIVE_INFINITY
  const ranked: Ranked[] = []
  for (const candidate of candidates) {
    const readyAtMs = health.readyAtMs(candidate, nowMs)
    if (readyAtMs > nowMs) soonestMs = Math.min(soonestMs, readyAtMs)
    else ranked.push(rank(candidate, preference(candidate), draw(candidate.seed)))
  }
  if (ranked.length > 0) return { order: ranked.sort(compare).map(({ candidate }) => candidate), readyAtMs: nowMs }
  const lastResort = health.lastResort(candidates, nowMs)
  return { order: lastResort ? [lastResort] : [], readyAtMs: soonestMs }
}

const TIERS = Object.freeze({ verified: 1, official: 2 })

/**
 * The score is the time to the first event of a process whose rate is the weight: the chance to be the smallest is the
 * weight's share, and so it is among the rest when the smallest is taken away.
 */
function rank(candidate: Candidate, preference: number, drawn: number): Ranked {
  const tier = candidate.isPrivate ? 0 : TIERS[candidate.offer.channel.tier]
  return { candidate, tier, preference, score: -Math.log(1 - drawn) / candidate.weight }
}

function compare(a: Ranked, b: Ranked): number {
  return a.tier - b.tier || a.preference - b.preference || a.score - b.score
}
