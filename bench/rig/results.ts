import { execFileSync } from 'node:child_process'
import { appendFile, readFile } from 'node:fs/promises'
import { availableParallelism, totalmem } from 'node:os'
import path from 'node:path'
import { isPinned } from './pinning.ts'
import { spreadOf } from './statistics.ts'

/** One line of the results. */
export interface Row {
  readonly suite: string
  readonly name: string
  readonly unit: string
  /** One value a round. */
  readonly values: readonly number[]
  /** What it should be; a row without one explains another. */
  readonly target?: { readonly atMost: number } | { readonly atLeast: number }
}

/** Figures of pairs, which a line each would hide. */
export interface Matrix {
  readonly title: string
  /** What the lines and the columns are. */
  readonly corner: string
  readonly lines: Readonly<Record<string, Readonly<Record<string, number>>>>
}

export type Finding = Row | Matrix

const FILE = path.resolve(import.meta.dirname, '../results.md')

/** A table of all rows, and one of each matrix. */
export function tables(findings: readonly Finding[]): string {
  const rows = findings.filter(finding => 'suite' in finding)
  const matrices = findings.filter(finding => 'lines' in finding)
  const head = ['suite', 'measure', 'median', 'lowest to highest', 'target', 'met']
  return [grid([head, ...rows.map(cellsOf)]), ...matrices.map(matrixText)].join('\n\n')
}

function matrixText({ title, corner, lines }: Matrix): string {
  const columns = Object.keys(Object.values(lines)[0] ?? {})
  const body = Object.entries(lines).map(([name, line]) => [name, ...columns.map(column => cell(line[column]))])
  return `${title}:\n\n${grid([[corner, ...columns], ...body])}`
}

function cell(value: number | undefined): string {
  return value === undefined ? '' : format(value)
}

function grid(cells: readonly (readonly string[])[]): string {
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map(row => row[column]?.length ?? 0))) ?? []
  const line = (row: readonly string[]) => `| ${row.map((text, i) => text.padEnd(widths[i] ?? 0)).join(' | ')} |`
  const [head = [], ...body] = cells
  return [line(head), line(widths.map(width => '-'.repeat(width))), ...body.map(line)].join('\n')
}

function cellsOf({ suite, name, unit, values, target }: Row): string[] {
  const { median, min, max } = spreadOf(values)
  const spread = values.length > 1 ? `${format(min)} to ${format(max)} (${values.length})` : ''
  if (!target) return [suite, name, `${format(median)} ${unit}`.trim(), spread, '', '']
  const [sign, limit] = 'atMost' in target ? ['≤', target.atMost] : ['≥', target.atLeast]
  const isMet = sign === '≤' ? median <= limit : median >= limit
  return [suite, name, `${format(median)} ${unit}`.trim(), spread, `${sign} ${limit}`, isMet ? 'yes' : '**no**']
}

function format(value: number): string {
  const size = Math.abs(value)
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2)
}

/** Adds a run to `results.md`. */
export async function record(findings: readonly Finding[], suites: readonly string[]): Promise<void> {
  await appendFile(
    FILE,
    `\n## ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC: ${suites.join(', ')}\n\n`,
  )
  await appendFile(FILE, `${await circumstances()}\n\n${tables(findings)}\n`)
}

async function circumstances(): Promise<string> {
  const cpu = /^model name\s*: (.+)$/m.exec(await readFile('/proc/cpuinfo', 'utf8'))?.[1] ?? process.arch
  const machine = `${availableParallelism()} cores of ${cpu}, ${Math.round(totalmem() / 2 ** 30)} GiB`
  const pinning = isPinned ? 'the measured process alone on core 0' : 'not pinned (no taskset, or one core)'
  return `Commit ${commit()}; Node ${process.version}; ${machine}; ${pinning}.`
}

function commit(): string {
  try {
    const git = (...args: string[]) => execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' }).trim()
    return (
      git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', '--', '../../src') ? ' with changes' : '')
    )
  } catch {
    return 'unknown'
  }
}
