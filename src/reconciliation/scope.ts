/** From a moment up to another, in whole hours. */
export interface Hours {
  readonly from: Date
  readonly till: Date
}

/** How much of the books a check reads. */
export type Scope = 'everything' | RecentScope

/**
 * What has moved lately, and a little of the rest each time, so that everything is read again in the course of time
 * and no check takes longer as the books grow.
 */
export interface RecentScope {
  /** Entries and keys that are older have not moved since the last check. */
  readonly since: Date
  /** Hours whose rows are counted. */
  readonly hours: readonly Hours[]
  /** What lies before has been compared with its rows once, by this check or an earlier one. */
  readonly hoursCheckedTill: Date
  /** Of the subjects at rest those whose turn it is: one of {@link SLOTS} parts. */
  readonly slot: number
}

export const INTERVAL_MS = 5 * 60_000
const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS

/** Every subject has its turn once a day. */
export const SLOTS = DAY_MS / INTERVAL_MS

/** Longer than any transaction may take (`storage/database.ts`): what is older can no longer appear. */
export const SETTLED_MS = 10 * 60_000
/** A node that comes back from an outage is not made to count all that it missed at once. */
const BACKLOG_MS_MAX = DAY_MS
/** Beyond the interval, so that no movement falls between two checks. */
const LOOKBACK_MS = HOUR_MS

export interface History {
  readonly now: Date
  readonly firstRowAt: Date | undefined
  readonly hoursCheckedTill: Date | undefined
}

/** What the check of this moment reads. Nothing but the clock says whose turn it is, so nothing has to be kept. */
export function recentScope({ now, firstRowAt, hoursCheckedTill }: History): RecentScope {
  const nowMs = now.getTime()
  const turn = Math.floor(nowMs / INTERVAL_MS)
  const settledMs = floorHour(nowMs - SETTLED_MS)
  const fromMs = Math.max(hoursCheckedTill?.getTime() ?? 0, settledMs - BACKLOG_MS_MAX)
  const hours: Hours[] = fromMs < settledMs ? [{ from: new Date(fromMs), till: new Date(settledMs) }] : []
  const firstMs = floorHour(firstRowAt?.getTime() ?? nowMs)
  const past = Math.round((settledMs - firstMs) / HOUR_MS)
  if (past > 0) {
    const pastMs = firstMs + (turn % past) * HOUR_MS
    hours.push({ from: new Date(pastMs), till: new Date(pastMs + HOUR_MS) })
  }
  return { since: new Date(nowMs - LOOKBACK_MS), hours, hoursCheckedTill: new Date(settledMs), slot: turn % SLOTS }
}

/** The days that the hours lie in. */
export function wholeDays({ from, till }: Hours): Hours {
  return {
    from: new Date(Math.floor(from.getTime() / DAY_MS) * DAY_MS),
    till: new Date(Math.ceil(till.getTime() / DAY_MS) * DAY_MS),
  }
}

function floorHour(ms: number): number {
  return Math.floor(ms / HOUR_MS) * HOUR_MS
}
