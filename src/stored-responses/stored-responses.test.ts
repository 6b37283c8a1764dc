import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import type { Database } from '#storage/database.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { StoredResponses } from './stored-responses.ts'

const WORKSPACE = 'ws_1'

let place: TestDatabase
let database: Database
const unkept: string[] = []

function node(): StoredResponses {
  const onError = (error: unknown) => assert.fail(String(error))
  return new StoredResponses({
    database: place.open(),
    keptMs: 30_000,
    onUnkept: (error, requestId) => unkept.push(`${requestId}: ${error instanceof Error ? error.message : error}`),
    onError,
  })
}

const response = (responseId: string, fields: object = {}) => ({
  workspaceId: WORKSPACE,
  responseId,
  previousResponseId: undefined,
  model: 'm',
  input: '[]',
  response: '{"output":[]}',
  itemIds: [],
  ...fields,
})

before(async () => {
  place = await createTestDatabase()
  database = place.open()
  await sql`insert into organizations (id, name, role) values ('org_1', 'one', 'user')`.execute(database)
  await sql`insert into workspaces (id, organization_id, name) values (${WORKSPACE}, 'org_1', 'one')`.execute(database)
})

after(() => place.drop())

describe('StoredResponses', () => {
  it('deletes what has expired, and only that, however many nodes do it', async () => {
    await sql`
      insert into stored_responses (workspace_id, response_id, model, input, response, bytes, expires_at)
      select ${WORKSPACE}, 'resp_' || n, 'm', '[]', '{}', 4, now() + interval '1 hour' * case when n > 1000 then 1 else -1 end
      from generate_series(1, 1005) as n
    `.execute(database)
    await sql`insert into stored_response_items select workspace_id, response_id, 'item' from stored_responses`.execute(
      database,
    )
    const nodes = [node(), node(), node()]
    for (const each of nodes) each.start()
    await eventually('the deletion', async () => {
      const { rows } = await sql<{ left: number }>`select count(*) as left from stored_responses`.execute(database)
      return rows[0]?.left === 5 ? true : undefined
    })
    await Promise.all(nodes.map(each => each.stop()))
    const { rows } = await sql<{ left: number }>`select count(*) as left from stored_response_items`.execute(database)
    assert.equal(rows[0]?.left, 5)
  })

  it('means the youngest of items that are named alike', async () => {
    const stored = node()
    const item = (said: string) => ({ id: 'msg_1', type: 'message', said })
    for (const said of ['older', 'younger']) {
      const output = { itemIds: ['msg_1', 'msg_1'], response: JSON.stringify({ output: [item(said)] }) }
      await stored.keep('req_1', () => response(`resp_${said}`, output))
    }
    assert.deepEqual((await stored.items(WORKSPACE, ['msg_1', 'msg_2'])).get('msg_1'), item('younger'))
  })

  it('reports what it cannot keep, and throws nothing', async () => {
    const stored = node()
    await stored.keep('req_large', () => response('resp_large', { input: `["${'x'.repeat(33 * 1024 * 1024)}"]` }))
    await stored.keep('req_broken', () => response('resp_broken', { response: '{' }))
    await stored.keep('req_none', () => undefined)
    await stored.keep('req_thrown', () => {
      throw new Error('made of nonsense')
    })
    assert.match(
      unkept.join('\n'),
      /^req_large: .* larger than .*\nreq_broken: .* json.*\nreq_thrown: made of nonsense$/,
    )
  })
})
