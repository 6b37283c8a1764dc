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

const FILE = path.resolve(import.meta.dirname, '../results.md')

export function table(rows: readonly Row[]): string {
  const cells = [['suite', 'measure', 'median', 'lowest to highest', 'target', 'met'], ...rows.map(cellsOf)]
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map(row => row[column]?.length ?? 0))) ?? []
  const line = (row: readonly string[]) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
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
export async function record(rows: readonly Row[], suites: readonly string[]): Promise<void> {
  await appendFile(
    FILE,
    `\n## ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC: ${suites.join(', ')}\n\n`,
  )
  await appendFile(FILE, `${await circumstances()}\n\n${table(rows)}\n`)
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
