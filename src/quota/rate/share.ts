/** How much of every limit this node may use by right, whatever others do. */
export interface Claim {
  /** One part in so many; `Infinity` while all of it is in others' hands. */
  readonly divisor: number
  /** Nodes among which limits are shared, this one included. */
  readonly nodes: number
  /** This node's place among them when all have equal parts, so that what does not divide evenly is given too. */
  readonly rank: number | undefined
}

export const SOLE_CLAIM: Claim = Object.freeze({ divisor: 1, nodes: 1, rank: 0 })

/**
 * What a node that has not got its equal part yet may use of a limit, all such nodes together: within what the sum of
 * all nodes may be beyond the limit.
 */
const STARTING_FRACTION = 0.05

/** @param salt a number of the subject's own, so that not one node has the remainder of every limit */
export function ownShare(limit: number, { divisor, nodes, rank }: Claim, salt: number): number {
  if (divisor > nodes) {
    return Math.max(Math.floor(limit / divisor), Math.floor((limit * STARTING_FRACTION) / nodes), 1)
  }
  const part = Math.floor(limit / divisor)
  // While places are in doubt a limit smaller than the number of nodes would leave some with nothing.
  if (rank === undefined) return Math.max(part, 1)
  return part + Number((rank + salt) % nodes < limit % nodes)
}

/** Divisors are whole, and parts like 1/3 are not: below this a difference is none. */
const PRECISION = 1e-9

/**
 * The part that a node may claim: an equal one, or what others have left of the whole.
 *
 * @param others the divisors by which they have used limits in the last window
 * @param nodesMin nodes that are known to come
 */
export function claimable(others: readonly number[], nodesMin: number): number {
  const left = 1 - others.reduce((sum, divisor) => sum + 1 / divisor, 0)
  const attainable = left > PRECISION ? Math.ceil(1 / left - PRECISION) : Number.POSITIVE_INFINITY
  return Math.max(others.length + 1, nodesMin, attainable)
}

/** A number of a subject's own, from its id (FNV-1a). */
export function saltOf(id: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < id.length; index++) hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193)
  return hash >>> 1
}
