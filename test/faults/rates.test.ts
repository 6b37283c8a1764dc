import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import { type Database, openDatabase } from '#storage/database.ts'
import { EmbeddedPostgres } from '#storage/embedded/server.ts'
import { migrate } from '#storage/migrate.ts'
import { eventually } from '../support/eventually.ts'
import { Fleet } from '../support/fleet.ts'
import type { Gateway } from '../support/gateway.ts'
import type { TestPayer } from '../support/payer.ts'
import { configFor, ScriptedUpstream } from '../support/upstream.ts'

/**
 * The promise under test: all nodes together let no more pass than the limit and 5 of 100 beyond it, however requests
 * are spread over them, with the database and without it.
 */

const NODES = 3
const LIMIT = 300
const LENT_WITHIN_MS = 20_000

let server: EmbeddedPostgres
let folder: string
let database: Database
let upstream: ScriptedUpstream
let fleet: Fleet
/** There before anyone asks in its name: what has just been made known is read again, which takes a database. */
let oldPayer: TestPayer

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tollgate-rates-'))
  server = new EmbeddedPostgres({ dataFolder: folder, onExit: () => {}, onProgress: () => {} })
  await server.start()
  const { socketFolder } = server.address as { socketFolder: string }
  const url = `postgres://postgres@localhost/tollgate?host=${encodeURIComponent(socketFolder)}`
  database = openDatabase({ url }, { connectionsMax: 4, onIdleError: () => {} })
  await migrate(database)
  upstream = await ScriptedUpstream.start()
  const config = configFor(upstream.url, `limits: { requests_per_minute: { user: ${LIMIT} } }`)
  fleet = await Fleet.start(NODES, { url, database, config })
  oldPayer = await fleet.createPayer({ credit: '1' })
  await eventually('a third of every limit for each node', async () => {
    const { rows } = await sql<{ divisor: number | null }>`select divisor from rate_nodes`.execute(database)
    return rows.length === NODES && rows.every(({ divisor }) => divisor === NODES) ? true : undefined
  })
})

after(async () => {
  await fleet?.stop()
  await database?.destroy()
  await upstream?.stop()
  await server?.stop()
  await rm(folder, { recursive: true, force: true })
})

const ask = async (gateway: Gateway, { credential: key }: TestPayer): Promise<boolean> => {
  const response = await gateway.fetch('/v1/models', { key })
  await response.arrayBuffer()
  assert.ok(response.status === 200 || response.status === 429, `${response.status}`)
  return response.status === 200
}

/** Asks a gateway until it refuses. @returns how often it admitted */
async function exhaust(gateway: Gateway, payer: TestPayer): Promise<number> {
  for (let admitted = 0; ; admitted++) if (!(await ask(gateway, payer))) return admitted
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0)

describe('a rate over several gateways', () => {
  it('is the limit in all, when each is asked for as much as it gives', async () => {
    const payer = await fleet.createPayer({ credit: '1' })
    const admitted = await Promise.all(fleet.gateways.map(gateway => exhaust(gateway, payer)))
    assert.equal(sum(admitted), LIMIT)
  })

  it('is nearly all for one gateway, when the others are asked for little', async () => {
    const payer = await fleet.createPayer({ credit: '1' })
    const [busy, ...others] = fleet.gateways as [Gateway, ...Gateway[]]
    let admitted = 0
    await eventually(
      'nine tenths of the limit',
      async () => {
        admitted += await exhaust(busy, payer)
        return admitted >= 0.9 * LIMIT ? true : undefined
      },
      LENT_WITHIN_MS,
    )
    admitted += sum(await Promise.all(others.map(gateway => exhaust(gateway, payer))))
    assert.ok(admitted <= LIMIT, `${admitted}`)
  })

  it('holds when the database is away, and nobody who is known is turned away for it', async () => {
    const payer = oldPayer
    let admitted = sum((await Promise.all(fleet.gateways.map(gateway => ask(gateway, payer)))).map(Number))
    assert.equal(admitted, NODES)
    await server.stop()
    try {
      admitted += sum(await Promise.all(fleet.gateways.map(gateway => exhaust(gateway, payer))))
      assert.ok(admitted >= 0.9 * LIMIT && admitted <= 1.05 * LIMIT, `${admitted}`)
    } finally {
      await server.start()
    }
  })
})
