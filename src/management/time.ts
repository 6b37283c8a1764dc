const DATE = /^(\d{4})-(\d{2})-(\d{2})$/
const RFC3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/

export const DAY_MS = 86_400_000

/** Midnight UTC of `2026-01-31`, in Unix milliseconds; `undefined` for what is no such day. */
export function parseDay(text: string): number | undefined {
  return isCalendarDay(DATE.exec(text)) ? Date.parse(text) : undefined
}

/** An RFC 3339 time with its time zone in Unix milliseconds; `undefined` for what is none. */
export function parseTime(text: string): number | undefined {
  return isCalendarDay(RFC3339.exec(text)) ? Date.parse(text.replace(' ', 'T').toUpperCase()) : undefined
}

function isCalendarDay(match: RegExpExecArray | null): boolean {
  if (!match) return false
  const [year, month, day] = match.slice(1, 4).map(Number) as [number, number, number]
  const date = new Date(Date.UTC(year, month - 1, day))
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day && year > 0
}
