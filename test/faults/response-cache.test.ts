import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { EmbeddedPostgres } from '#storage/embedded/server.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { Fleet } from '../support/fleet.ts'
import { Gateway } from '../support/gateway.ts'
import { startNumberedUpstream } from '../support/numbered-upstream.ts'
import { configFor } from '../support/upstream.ts'

const request = { model: 'test-chat', messages: [{ role: 'user', content: 'Hi' }] }
const headers = { 'x-gateway-cache': 'use' }

async function ask(gateway: Gateway, key = gateway.apiKey) {
  const response = await gateway.post('/v1/chat/completions', request, { headers, key })
  return { status: response.status, state: response.headers.get('x-gateway-cache'), text: await response.text() }
}

describe('the response cache', () => {
  it('is a miss while the database is locked or away, and works again after', { timeout: 60_000 }, async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tollgate-away-'))
    const server = () => new EmbeddedPostgres({ dataFolder: folder, onExit: () => {}, onProgress: () => {} })
    const first = server()
    await first.start()
    const { socketFolder } = first.address as { socketFolder: string }
    const url = `postgres://postgres@localhost/tollgate?host=${encodeURIComponent(socketFolder)}`
    const upstream = await startNumberedUpstream()
    const gateway = await Gateway.start({
      config: configFor(upstream.url),
      database: 'embedded',
      environment: { DATABASE_URL: url },
    })
    const hit = () =>
      eventually('a hit', async () => {
        const answer = await ask(gateway)
        assert.equal(answer.status, 200)
        return answer.state === 'hit' ? answer : undefined
      })
    try {
      await hit()
      const blocker = new pg.Client({ connectionString: url })
      await blocker.connect()
      await blocker.query('begin; lock table cached_answers')
      const held = await ask(gateway)
      assert.deepEqual([held.status, held.state], [200, 'miss'])
      await eventually('the warning', () => gateway.lines('cache.unread')[0])
      await blocker.end()
      await hit()

      await first.stop()
      const away = await ask(gateway)
      assert.deepEqual([away.status, away.state], [200, 'miss'])
      const unkept = await eventually('the warning', () => gateway.lines('cache.unkept')[0])
      assert.equal(unkept.level, 'warn')
      assert.match(
        await (await gateway.fetch('/metrics')).text(),
        /^tollgate_cache_failures_total{operation="write"} \d/m,
      )

      const second = server()
      await second.start()
      try {
        await hit()
        assert.equal(await gateway.terminate(), 0)
      } finally {
        await second.stop()
      }
      assert.ok(!JSON.stringify(gateway.log).includes('Answer '), 'no answer stands in the log')
    } finally {
      await gateway.stop()
      await upstream.stop()
      await first.stop()
      await rm(folder, { recursive: true, force: true })
    }
  })

  it('is one for all nodes, and a kill loses at most what it could have saved', { timeout: 60_000 }, async () => {
    const place = await createTestDatabase()
    const database = place.open()
    const upstream = await startNumberedUpstream()
    const fleet = await Fleet.start(2, { url: place.url, config: configFor(upstream.url), database })
    try {
      const payer = await fleet.createPayer({ credit: '10' })
      const [one, two] = fleet.gateways as [Gateway, Gateway]
      const answered = await ask(one, payer.credential)
      await eventually('the kept answer', async () => {
        const { rows } = await sql`select 1 from cached_answers`.execute(database)
        return rows.length === 1 ? true : undefined
      })
      const elsewhere = await ask(two, payer.credential)
      assert.deepEqual([elsewhere.state, elsewhere.text], ['hit', answered.text])

      // The next answer cannot be written until its node is dead.
      await sql`delete from cached_answers`.execute(database)
      const blocker = new pg.Client({ connectionString: place.url })
      await blocker.connect()
      await blocker.query('begin; lock table cached_answers in share row exclusive mode')
      assert.equal((await ask(one, payer.credential)).state, 'miss')
      await one.kill()
      await blocker.end()
      await fleet.launch(0)
      const [again] = fleet.gateways as [Gateway]
      assert.equal((await ask(again, payer.credential)).status, 200)
      await eventually('a hit', async () => ((await ask(again, payer.credential)).state === 'hit' ? true : undefined))
      await Promise.all(fleet.gateways.map(gateway => gateway.terminate()))
      const rows = await fleet.rowsOf(payer)
      const paid = rows.filter(({ outcome }) => outcome === 'completed')
      assert.equal(paid.length, upstream.seen.length, 'each answer of the upstream is paid for once')
      assert.ok(rows.every(({ outcome, cost }) => outcome === 'completed' || Number(cost) === 0))
      assert.equal(await fleet.reconcile(), undefined)
    } finally {
      await fleet.stop()
      await upstream.stop()
      await place.drop()
    }
  })
})
