/** Rows as aligned columns under a header. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows]
  const widths = header.map((_, column) => Math.max(...all.map(row => (row[column] ?? '').length)))
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return `${[line(header), line(widths.map(width => '-'.repeat(width))), ...rows.map(line)].join('\n')}\n`
}

export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  process.stdout.write(rows.length === 0 ? 'none\n' : formatTable(header, rows))
}
