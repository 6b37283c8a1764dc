import { type Case, type Exception, type Pair, pairsOf } from './case.ts'
import { CASES } from './cases.ts'
import { CLIENTS } from './clients/index.ts'
import { FORMATS, type Format } from './conversation.ts'
import { FAILURES, type Failure, meaningOf, WORDS } from './failures.ts'
import { INTERRUPTIONS } from './interruptions.ts'

/** The part of docs/formats.md that is printed from what the suite runs. */
export function printMatrix(): string {
  const sections = [
    '## Cases',
    ...CASES.flatMap(printCase),
    '## Failures',
    'What the SDK raises, and the word by which programs of its family tell errors apart.',
    ...FAILURES.flatMap(printFailure),
    '## Interruptions',
    'The same for all pairs:',
    INTERRUPTIONS.map(({ name, about }) => `- **${name}**: ${about}`).join('\n'),
    '## What is lost, and why',
    ...printLosses(),
  ]
  return `${sections.join('\n\n')}\n`
}

function printCase(of: Case): string[] {
  const pairs = pairsOf(of)
  const rows = FORMATS.filter(client => pairs.some(pair => pair.client === client && !isAbsent(pair)))
  const columns = FORMATS.filter(upstream => pairs.some(pair => pair.upstream === upstream && !isAbsent(pair)))
  const stateOf = (client: Format, upstream: Format) =>
    printState(pairs.find(pair => pair.client === client && pair.upstream === upstream) as Pair)
  const table = printTable(
    ['client ↓ upstream →', ...columns],
    rows.map(client => [client, ...columns.map(upstream => stateOf(client, upstream))]),
  )
  const absences = (of.exceptions ?? []).filter(({ loss }) => loss.kind === 'absent')
  return [`### ${capital(of.name)}`, of.about, table, ...absences.map(({ loss }) => `Not listed: ${loss.why}.`)]
}

function isAbsent({ exceptions }: Pair): boolean {
  return exceptions.some(({ loss }) => loss.kind === 'absent')
}

const LOSSES: Readonly<Record<Exception['loss']['kind'], string>> = {
  absent: '–',
  refused: 'refused',
  dropped: 'dropped with warning',
  unheard: 'not told to the client',
  added: 'added',
}

/** What a pair of formats does to the case, in a few words. */
function printState({ client, upstream, exceptions }: Pair): string {
  if (exceptions.some(({ loss }) => loss.kind === 'absent')) return LOSSES.absent
  if (exceptions.length === 0) return client === upstream ? 'native' : 'translated'
  return exceptions
    .map(({ loss }) => ('what' in loss ? `${LOSSES[loss.kind]}: ${loss.what}` : LOSSES[loss.kind]))
    .join('; ')
}

function printFailure(failure: Failure): string[] {
  const rows = FORMATS.map(client => {
    const words = new Set(FORMATS.map(upstream => printWords(failure, client, upstream)))
    return [client, [...words].join(' or ')]
  })
  return [`### ${capital(failure.name)}`, failure.about, printTable(['client', 'reads'], rows)]
}

function printWords(failure: Failure, client: Format, upstream: Format): string {
  const { kind, status, code } = WORDS[meaningOf(failure, upstream)][client]
  if (failure.isMidway) return `\`${CLIENTS[client].midwayKind}\` \`${code}\``
  return `\`${kind}\` ${status}${code === undefined ? '' : ` \`${code}\``}`
}

function printLosses(): string[] {
  return CASES.flatMap(({ name, exceptions = [] }) => {
    const losses = exceptions.filter(({ loss }) => loss.kind !== 'absent')
    return losses.length === 0 ? [] : [`${capital(name)}:`, losses.map(printLoss).join('\n')]
  })
}

function printLoss({ loss, clients, upstreams, warnings = [] }: Exception): string {
  const where = [
    ...(clients ? [`${clients.join(' and ')} client`] : []),
    ...(upstreams ? [`${upstreams.join(' and ')} upstream`] : []),
  ]
  const place = where.length === 0 ? '' : ` (${where.join(', ')})`
  const told = warnings.filter(warning => typeof warning === 'string').map(warning => ` Warning: \`${warning}\`.`)
  const what = 'what' in loss ? `${LOSSES[loss.kind]}: ${loss.what}` : LOSSES[loss.kind]
  return `- **${what}**${place}: ${loss.why}.${told.join('')}`
}

/** With its columns aligned, as the formatter of documents leaves it. */
function printTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(3, ...all.map(row => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  return [line(head), line(widths.map(width => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
