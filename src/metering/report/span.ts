const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** From `from` up to, not including, `to`, in Unix milliseconds; infinite where a report is unbounded. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A piece of a span, and the coarsest table that describes it exactly. */
export interface Piece extends Span {
  readonly source: 'daily' | 'hourly' | 'events'
}

/**
 * Cuts a span into whole days, whole hours at their edges, and what is left at the edges of those, newest piece last.
 * Read from the sums of each width, any report touches at most two hours of single rows, however long it is.
 */
export function cutSpan({ from, to }: Span): Piece[] {
  return cut({ from, to }, [
    { source: 'daily', widthMs: DAY_MS },
    { source: 'hourly', widthMs: HOUR_MS },
  ])
}

function cut({ from, to }: Span, widths: readonly { source: Piece['source']; widthMs: number }[]): Piece[] {
  if (from >= to) return []
  const [width, ...finer] = widths
  if (!width) return [{ source: 'events', from, to }]
  const firstWhole = Math.ceil(from / width.widthMs) * width.widthMs
  const lastWhole = Math.floor(to / width.widthMs) * width.widthMs
  if (firstWhole >= lastWhole) return cut({ from, to }, finer)
  return [
    ...cut({ from, to: firstWhole }, finer),
    { source: width.source, from: firstWhole, to: lastWhole },
    ...cut({ from: lastWhole, to }, finer),
  ]
}
