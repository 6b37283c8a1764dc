import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import type { Usage } from '#core/usage.ts'
import type { Database } from '#storage/database.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { keyOf } from './key.ts'
import { ResponseCache, type ResponseCacheOptions } from './response-cache.ts'

const START_MS = Date.UTC(2026, 0, 1)
/** What a test's answer counts: it does not compress, and the row beside it is taken for half a kilobyte. */
const BODY_BYTES = 4_000
const ENTRY_BYTES_MAX = BODY_BYTES + 600

let place: TestDatabase
let database: Database
let nowMs = START_MS
let seen: string[] = []

const observer: ResponseCacheOptions['observer'] = {
  hit: () => seen.push('hit'),
  missed: () => seen.push('miss'),
  stored: () => seen.push('stored'),
  evicted: (count, reason) => seen.push(`${count} ${reason}`),
  unkept: (error, requestId) => seen.push(`${requestId} unkept: ${error instanceof Error ? error.message : error}`),
  unread: error => seen.push(`unread: ${error instanceof Error ? error.message : error}`),
}

function node(options: Partial<ResponseCacheOptions> = {}): ResponseCache {
  return new ResponseCache({
    database,
    bytesMax: 1e9,
    answerBytesMax: 1e6,
    observer,
    onError: error => assert.fail(String(error)),
    nowMs: () => nowMs,
    ...options,
  })
}

const placeOf = (request: string, workspaceId = 'ws_1') => ({ workspaceId, key: keyOf([request]) })

async function keep(
  cache: ResponseCache,
  request: string,
  { workspace = '1', ttlSeconds = 60, body = randomBytes(BODY_BYTES), usage = { inputTokens: 3 } as Usage } = {},
): Promise<Buffer> {
  cache.keep({
    ...placeOf(request, `ws_${workspace}`),
    organizationId: `org_${workspace}`,
    requestId: 'req_1',
    ttlSeconds,
    answer: {
      channelId: 'main',
      accessChannel: 'platform',
      headers: { 'content-type': 'text/plain' },
      usage,
      isEstimated: false,
      body,
    },
  })
  await cache.written()
  // One answer is older than the next.
  nowMs += 1
  return body
}

before(async () => {
  place = await createTestDatabase()
  database = place.open()
  for (const id of ['1', '2', '3']) {
    await sql`insert into organizations (id, name, role) values (${`org_${id}`}, ${id}, 'user')`.execute(database)
    await sql`
      insert into workspaces (id, organization_id, name) values (${`ws_${id}`}, ${`org_${id}`}, ${id})
    `.execute(database)
  }
})

beforeEach(async () => {
  await sql`delete from cached_answers`.execute(database)
  nowMs = START_MS
  seen = []
})

after(() => place.drop())

describe('ResponseCache', () => {
  it('gives on one node what was kept on another, to its workspace only', async () => {
    const body = await keep(node(), 'a')
    const found = await node().find(placeOf('a'), 60)
    assert.deepEqual(found?.body, body)
    assert.deepEqual(found?.headers, { 'content-type': 'text/plain' })
    assert.deepEqual(found?.usage, { inputTokens: 3 })
    assert.equal(await node().find(placeOf('a', 'ws_2'), 60), undefined)
    assert.equal(await node().find(placeOf('b'), 60), undefined)
    assert.deepEqual(seen, ['stored', 'hit', 'miss', 'miss'])
  })

  it('keeps the tokens of an answer, and nothing else that was counted', async () => {
    const cache = node()
    await keep(cache, 'a', { usage: { inputTokens: 3, units: { second: 3_270_000_000_000n } } })
    assert.deepEqual((await cache.find(placeOf('a'), 60))?.usage, { inputTokens: 3 })
  })

  it('gives an answer for as long as it may be kept, and says how old it is', async () => {
    const cache = node()
    await keep(cache, 'a', { ttlSeconds: 60 })
    nowMs = START_MS + 59_999
    assert.equal((await cache.find(placeOf('a'), 3_600))?.ageSeconds, 59)
    nowMs = START_MS + 60_000
    assert.equal(await cache.find(placeOf('a'), 3_600), undefined)
  })

  it('gives no answer that is older than its caller wants', async () => {
    const cache = node()
    await keep(cache, 'a', { ttlSeconds: 3_600 })
    nowMs = START_MS + 10_000
    assert.equal(await cache.find(placeOf('a'), 10), undefined)
    assert.equal((await cache.find(placeOf('a'), 11))?.ageSeconds, 10)
  })

  it('keeps the younger of two answers', async () => {
    const cache = node()
    await keep(cache, 'a')
    const younger = await keep(cache, 'a')
    assert.deepEqual((await cache.find(placeOf('a'), 60))?.body, younger)
  })

  it('keeps nothing that is longer than it may be, and nothing at all without room', async () => {
    await keep(node({ answerBytesMax: BODY_BYTES - 1 }), 'a')
    await keep(node({ bytesMax: 0 }), 'a')
    assert.deepEqual(seen, [])
    assert.equal(await node().find(placeOf('a'), 60), undefined)
  })

  it('takes less room than what it keeps where that repeats itself', async () => {
    const cache = node()
    const event = 'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"delta":{"content":"x"}}]}\n\n'
    await keep(cache, 'a', { body: Buffer.from(event.repeat(1_000)) })
    await cache.sweep()
    assert.ok(cache.bytes < (event.length * 1_000) / 20, `${cache.bytes} bytes`)
  })

  it('deletes what has expired', async () => {
    const cache = node()
    await keep(cache, 'short', { ttlSeconds: 1 })
    await keep(cache, 'long', { ttlSeconds: 100 })
    nowMs = START_MS + 50_000
    await cache.sweep()
    assert.deepEqual(seen, ['stored', 'stored', '1 expired'])
    assert.ok(await cache.find(placeOf('long'), 100))
  })

  it('makes room by the oldest answers of who has most, and leaves others theirs', async () => {
    const cache = node({ bytesMax: 10 * ENTRY_BYTES_MAX })
    await keep(cache, 'first', { workspace: '2' })
    for (let n = 0; n < 30; n++) await keep(cache, `flood ${n}`)
    await cache.sweep()
    assert.ok(cache.bytes <= 10 * ENTRY_BYTES_MAX)
    assert.ok(await cache.find(placeOf('first', 'ws_2'), 60))
    assert.ok(await cache.find(placeOf('flood 29'), 60))
    assert.ok(await cache.find(placeOf('flood 22'), 60))
    assert.equal(await cache.find(placeOf('flood 10'), 60), undefined)
  })

  it('deletes no more than one node would when several make room at once', async () => {
    const nodes = [1, 2, 3].map(() => node({ bytesMax: 10 * ENTRY_BYTES_MAX, database: place.open() }))
    for (let n = 0; n < 30; n++) await keep(nodes[0] as ResponseCache, `flood ${n}`)
    await Promise.all(nodes.map(each => each.sweep()))
    const { rows } = await sql<{ left: number }>`select count(*) as left from cached_answers`.execute(database)
    assert.equal(rows[0]?.left, 10)
  })

  it('makes room soon after much was added, without being asked', async () => {
    const cache = node({ bytesMax: 10 * ENTRY_BYTES_MAX })
    cache.start()
    for (let n = 0; n < 30; n++) await keep(cache, `flood ${n}`)
    await eventually('the eviction', async () => {
      const { rows } = await sql<{ left: number }>`select count(*) as left from cached_answers`.execute(database)
      return rows[0]?.left === 10 ? true : undefined
    })
    await cache.stop()
  })

  it('forgets the answers of one workspace', async () => {
    const cache = node()
    await keep(cache, 'a')
    await keep(cache, 'b')
    await keep(cache, 'a', { workspace: '2' })
    assert.equal(await cache.forget('ws_1'), 2)
    assert.equal(await cache.find(placeOf('a'), 60), undefined)
    assert.ok(await cache.find(placeOf('a', 'ws_2'), 60))
  })

  it('has nothing while the database is slow, and spares the next requests the wait', async () => {
    const cache = node()
    await keep(cache, 'a')
    seen = []
    const blocker = new pg.Client({ connectionString: place.url })
    await blocker.connect()
    await blocker.query('begin; lock table cached_answers')
    assert.equal(await cache.find(placeOf('a'), 60), undefined)
    assert.equal(await cache.find(placeOf('a'), 60), undefined)
    assert.deepEqual(seen, ['unread: the database took more than 200 ms', 'miss', 'miss'])
    await blocker.end()
    nowMs += 1_001
    assert.ok(await cache.find(placeOf('a'), 60))
  })

  it('reports what it could not keep, and ends when all is written', async () => {
    const cache = node()
    await keep(cache, 'a', { workspace: 'unknown' })
    assert.equal(seen.length, 1)
    assert.match(seen[0] as string, /^req_1 unkept: .*foreign key/)
    await cache.stop()
  })

  it('loses the answers of a workspace with it', async () => {
    const cache = node()
    await keep(cache, 'a', { workspace: '3' })
    await sql`delete from workspaces where id = 'ws_3'`.execute(database)
    assert.equal(await cache.find(placeOf('a', 'ws_3'), 60), undefined)
  })
})
