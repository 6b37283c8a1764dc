import { largerOf, type Picodollars, smallerOf } from '#core/money.ts'

/** What a node asks of one subject. */
export interface Need {
  /** With less than this nobody who waits is helped; 0 when nobody waits. */
  readonly least: Picodollars
  /** All that would be of use. */
  readonly wanted: Picodollars
}

export interface Supply {
  /** Neither spent nor held nor leased; negative when spending has gone beyond what could be foreseen. */
  readonly available: Picodollars
  /** Nodes that may ask, this one included. */
  readonly liveNodes: number
}

/** Each of the living nodes may have this many grants before there is nothing left for a late one. */
const GRANTS_PER_NODE = 2n

/**
 * How much of what is available one grant gives: what is of use, but no more than a fair share, and near the end, where
 * shares have become smaller than single requests, exactly what lets one request pass. Nothing at all where even that
 * is not there: crumbs on many nodes would help none of them.
 */
export function allocate({ least, wanted }: Need, { available, liveNodes }: Supply): Picodollars {
  if (available <= 0n || available < least) return 0n
  const share = available / (BigInt(liveNodes) * GRANTS_PER_NODE)
  return largerOf(least, smallerOf(wanted, share))
}
