import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '../../src/storage/database.ts'
import { FORMATS, type Format } from '../canned/formats.ts'
import type { Contender } from './contenders.ts'
import type { Rig } from './rig.ts'

export const TOLLGATE_MAIN = path.resolve(import.meta.dirname, '../../src/main.ts')
const SETTLED_MS_MAX = 120_000
const POLL_MS = 100

export interface Tollgate extends Contender {
  readonly apiKeyId: string
  readonly managementToken: string
  readonly database: Database
}

export interface TollgateOptions {
  readonly nodeArgs?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/**
 * Tollgate with everything on: authentication, catalog, journal with `fdatasync`, shipping to Postgres, a log line a
 * request into a file, metrics. Its clients ask for another model than the upstream knows and, in streams, for no
 * usage, so that both have to be edited.
 */
export async function startTollgate(rig: Rig, options: TollgateOptions = {}): Promise<Tollgate> {
  const { nodeArgs = [], environment = {} } = options
  const postgres = await rig.postgres()
  const database = await postgres.createDatabase()
  const folder = await rig.createFolder('tollgate')
  const logFile = path.join(folder, 'log')
  await writeFile(path.join(folder, 'tollgate.yaml'), configFor(await rig.upstreamUrl()))
  const process = await rig.start({
    name: 'Tollgate',
    script: TOLLGATE_MAIN,
    args: ['start'],
    nodeArgs,
    place: 'measured',
    environment: { PORT: '0', TOLLGATE_DATA: folder, DATABASE_URL: database.url, ...environment },
    cwd: folder,
    logFile,
  })
  const url = await process.until(() => readyUrl(logFile), logFile)
  const credentials = JSON.parse(await readFile(path.join(folder, 'credentials.json'), 'utf8'))
  let answered = 0
  return {
    name: 'tollgate',
    process,
    port: Number(new URL(url).port),
    headers: { authorization: `Bearer ${credentials.api_key}` },
    model: benchModel('chat-completions'),
    settled: async requests => {
      answered += requests
      await shipped(database.handle, answered)
    },
    apiKeyId: credentials.api_key_id,
    managementToken: credentials.management_token,
    database: database.handle,
  }
}

/** The model whose upstream speaks `format`. */
export function benchModel(format: Format): string {
  return `bench-${format}`
}

/** The address in the log line that says that Tollgate is ready, once it is there. */
export async function readyUrl(logFile: string): Promise<string | undefined> {
  const line = (await readFile(logFile, 'utf8')).split('\n').find(each => each.includes('"msg":"tollgate.ready"'))
  return line === undefined ? undefined : (JSON.parse(line) as { url: string }).url
}

/** A channel of each format, and a model behind each: those of other formats cost nothing where they are not asked. */
function configFor(upstreamUrl: string): string {
  const channels = FORMATS.map(format => {
    const { provider, path } = PROVIDERS[format]
    return `  - { id: ${format}, provider: ${provider}, base_url: "${upstreamUrl}${path}", api_key: sk-upstream, formats: [${format}] }`
  })
  const models = FORMATS.map(
    format => `  - id: ${benchModel(format)}
    vendor: bench
    scene: chat
    context_length: 128000
    max_output_tokens: 16000
    price: { input: "0.25", output: "2.00", cache_read: "0.025", per: 1M }
    offers: [{ channel: ${format}, upstream_model: upstream-model }]`,
  )
  const limits = 'limits: { requests_per_minute: { user: 1000000 } }'
  return `bootstrap: { credit: "1000000" }\n${limits}\nchannels:\n${channels.join('\n')}\nmodels:\n${models.join('\n')}\n`
}

const PROVIDERS: Readonly<Record<Format, { readonly provider: string; readonly path: string }>> = {
  'chat-completions': { provider: 'openai', path: '/v1' },
  messages: { provider: 'anthropic', path: '/v1' },
  responses: { provider: 'openai', path: '/v1' },
  'generate-content': { provider: 'google', path: '/v1beta' },
}

/** Waits until the usage of all answers so far is in Postgres. */
async function shipped(database: Database, answered: number): Promise<void> {
  const deadlineMs = performance.now() + SETTLED_MS_MAX
  while (performance.now() < deadlineMs) {
    const { rows } = await sql<{ count: number }>`
      select coalesce(sum(requests), 0)::bigint as count from usage_daily
    `.execute(database)
    if ((rows[0]?.count ?? 0) >= answered) return
    await sleep(POLL_MS)
  }
  throw new Error(`Tollgate did not ship the usage of ${answered} requests within ${SETTLED_MS_MAX} ms`)
}
