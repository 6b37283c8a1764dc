/** What spreadsheets take for a formula when a cell begins with it, full-width forms included. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/u
/** What cannot stand in a cell without quotes (RFC 4180, 2.5 to 2.7). */
const QUOTED = /[",\r\n]/

/**
 * A row of RFC 4180, with its line end. A text that a spreadsheet would run as a formula gets an apostrophe before it,
 * which makes it a text there; numbers are left as they are.
 */
export function encodeCsvRow(cells: readonly (string | number | boolean | null)[]): string {
  return `${cells.map(encodeCell).join(',')}\r\n`
}

function encodeCell(cell: string | number | boolean | null): string {
  if (cell === null) return ''
  if (typeof cell !== 'string') return String(cell)
  const text = FORMULA.test(cell) && !isDecimal(cell) ? `'${cell}` : cell
  return QUOTED.test(text) || text !== cell ? `"${text.replaceAll('"', '""')}"` : text
}

function isDecimal(text: string): boolean {
  return /^-?\d+(\.\d+)?$/.test(text)
}
