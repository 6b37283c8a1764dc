import { sql } from 'kysely'
import type { Row } from '../rig/results.ts'
import { Rig } from '../rig/rig.ts'
import { startTollgate, type Tollgate } from '../rig/tollgate.ts'
import { countRows, HISTORY_MODELS, type UsageHistory, writeHistory } from '../rig/usage-history.ts'
import type { SuiteContext } from './suite.ts'

const ROWS = 10_000_000
const ROWS_QUICK = 200_000
const DAYS = 90
const DAY_MS = 86_400_000
const PAGE_MS_MAX = 100
const PAGE_ROWS = 100
const WARM_UPS = 3
const REPETITIONS = 20

/** One way to ask for a page, and how many requests it must be about where that was counted. */
interface Question {
  readonly name: string
  /** The report of the key unless told otherwise. */
  readonly isOrganizations?: true
  readonly query: string
  readonly total?: number
}

/** The usage reports of a key with ten million requests and of its organization, page by page over HTTP. */
export async function report({ session, isQuick, say }: SuiteContext): Promise<Row[]> {
  await using rig = await Rig.create(session)
  const tollgate = await startTollgate(rig)
  const history = await historyOf(tollgate, isQuick ? ROWS_QUICK : ROWS)
  const startedAtMs = performance.now()
  await writeHistory(tollgate.database, history, rows => say(`${rows} rows written`))
  say(`prepared in ${((performance.now() - startedAtMs) / 1000).toFixed(0)} s`)
  const questions = await questionsAbout(tollgate, history)
  const times = new Map<string, number[]>(questions.map(({ name }) => [name, []]))
  for (let repetition = -WARM_UPS; repetition < REPETITIONS; repetition++) {
    for (const question of questions) {
      const ms = await ask(tollgate, question)
      if (repetition >= 0) times.get(question.name)?.push(ms)
    }
  }
  return questions.map(({ name }) => ({
    suite: 'report',
    name,
    unit: 'ms',
    values: times.get(name) ?? [],
    target: { atMost: PAGE_MS_MAX },
  }))
}

/** The first key's history; its ids are looked up, so that the report finds the rows. */
async function historyOf({ database, apiKeyId }: Tollgate, rows: number): Promise<UsageHistory> {
  const { rows: found } = await sql<{ workspaceId: string; organizationId: string }>`
    select w.id as "workspaceId", w.organization_id as "organizationId"
    from api_keys k join workspaces w on w.id = k.workspace_id where k.id = ${apiKeyId}
  `.execute(database)
  const [owner] = found
  if (!owner) throw new Error('the first key has no workspace')
  const to = new Date()
  return { keyId: apiKeyId, ...owner, rows, from: new Date(to.getTime() - DAYS * DAY_MS), to }
}

async function questionsAbout({ database }: Tollgate, { rows, from, to }: UsageHistory): Promise<Question[]> {
  // Neither bound lies on a day, an hour or a minute.
  const startDate = new Date(from.getTime() + 3.37 * DAY_MS).toISOString()
  const endDate = new Date(to.getTime() - 2.73 * DAY_MS).toISOString()
  const span = `startDate=${startDate}&endDate=${endDate}`
  const { common, rare } = HISTORY_MODELS
  const inSpan = await countRows(database, { from: startDate, to: endDate })
  const rareInSpan = await countRows(database, { from: startDate, to: endDate, model: rare })
  const last = (total: number) => `page=${Math.floor(total / PAGE_ROWS)}`
  return [
    { name: 'first page', query: '', total: rows },
    { name: 'page in the middle', query: `page=${Math.floor(rows / PAGE_ROWS / 2)}`, total: rows },
    { name: 'last page', query: last(rows), total: rows },
    { name: 'first page of a common model', query: `model=${common}` },
    { name: 'first page of a rare model', query: `model=${rare}` },
    { name: 'first page of a scene', query: 'scene=embedding' },
    { name: 'deep page of a scene', query: `scene=embedding&${last(rows * 0.09)}` },
    { name: 'first page, unaligned dates', query: span, total: inSpan },
    { name: 'last page, unaligned dates', query: `${span}&${last(inSpan)}`, total: inSpan },
    { name: 'first page, unaligned dates, rare model', query: `${span}&model=${rare}`, total: rareInSpan },
    {
      name: 'last page, unaligned dates, rare model',
      query: `${span}&model=${rare}&${last(rareInSpan)}`,
      total: rareInSpan,
    },
    { name: 'organization, first page', isOrganizations: true, query: '', total: rows },
    { name: 'organization, last page', isOrganizations: true, query: last(rows), total: rows },
    {
      name: 'organization, last page, unaligned dates, rare model',
      isOrganizations: true,
      query: `${span}&model=${rare}&${last(rareInSpan)}`,
      total: rareInSpan,
    },
    { name: 'all filters, unaligned dates', query: `${span}&model=${common}&modelVendor=acme&scene=chat` },
  ]
}

/** @returns how long it took, the whole answer read. @throws when the page is not the one that was asked for */
async function ask({ port, apiKeyId, managementToken }: Tollgate, question: Question): Promise<number> {
  const { name, isOrganizations, query, total } = question
  const subject = isOrganizations ? '' : `api-keys/${apiKeyId}/`
  const url = `http://127.0.0.1:${port}/v1/management/${subject}usage?limit=${PAGE_ROWS}&${query}`
  const startedAtMs = performance.now()
  const response = await fetch(url, { headers: { authorization: `Bearer ${managementToken}` } })
  const text = await response.text()
  const ms = performance.now() - startedAtMs
  if (response.status !== 200) throw new Error(`${name}: ${response.status} ${text}`)
  const { items, summary } = JSON.parse(text) as { items: unknown[]; summary: { total_requests: number } }
  if (items.length !== PAGE_ROWS) throw new Error(`${name}: ${items.length} items on the page`)
  if (total !== undefined && summary.total_requests !== total) {
    throw new Error(`${name}: the report says ${summary.total_requests} requests, the rows say ${total}`)
  }
  return ms
}
