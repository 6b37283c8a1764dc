import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import { runCommand } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { answerWhole, configFor, ScriptedUpstream } from '../support/upstream.ts'

const request = { model: 'test-chat', max_tokens: 1000, messages: [{ role: 'user', content: 'Hi' }] }

describe('what an operator is told', () => {
  let upstream: ScriptedUpstream
  let gateway: Gateway

  before(async () => {
    upstream = await ScriptedUpstream.start()
    const config = configFor(upstream.url, 'alerts: { balance_below: ["100.5", "10"], limit_used: ["80%"] }')
    gateway = await Gateway.start({ config })
  })

  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })

  const metrics = async () => (await gateway.fetch('/metrics')).text()

  it('is a balance that runs low, in the log and as a metric', async () => {
    const line = await eventually('the alert', () => gateway.lines('budget.alert')[0])
    assert.equal(line.level, 'warn')
    assert.equal(line.kind, 'organization')
    assert.equal(line.threshold, '100.5')
    assert.equal(line.balance_usd, '100')
    assert.match(await metrics(), /^tollgate_budget_alerts_total\{kind="organization",threshold="100.5"\} 1$/m)
    assert.equal(gateway.lines('budget.alert').length, 1)
  })

  it('is that the books agree, and since when', async () => {
    await eventually('the first look', async () => {
      const text = await metrics()
      assert.match(text, /^tollgate_reconcile_differences 0$/m)
      const at = Number(/^tollgate_reconcile_last_success_timestamp_seconds (\S+)$/m.exec(text)?.[1])
      return at > Date.now() / 1000 - 60 ? true : undefined
    })
  })

  it('is each upstream call that failed, and what its provider may bill', async () => {
    upstream.script = (_request, response) => {
      response.statusCode = 500
      response.setHeader('x-request-id', 'up_42')
      response.end('{"error":{"message":"no"}}')
    }
    const failed = await gateway.post('/v1/chat/completions', request)
    assert.equal(failed.status, 502)
    upstream.script = (_request, _response, socket) => void socket.destroy()
    await gateway.post('/v1/chat/completions', request)
    upstream.script = (_request, response) => {
      response.statusCode = 429
      response.end('{"error":{"message":"slow down"}}')
    }
    await gateway.post('/v1/chat/completions', request)
    upstream.script = answerWhole()
    assert.equal((await gateway.post('/v1/chat/completions', request)).status, 200)
    const database = gateway.database?.open()
    assert.ok(database)
    const rows = await eventually('the failures', async () => {
      const found = await sql<Record<string, unknown>>`
        select request_id, attempt, channel_id, upstream_model, kind, status, upstream_request_id,
               possible_cost > 0.001 and possible_cost < 0.01 as "mayCost", possible_cost = 0 as "costsNothing"
        from failed_attempts order by failed_at
      `.execute(database)
      return found.rows.length === 3 ? found.rows : undefined
    })
    assert.deepEqual(rows[0], {
      request_id: failed.headers.get('x-request-id'),
      attempt: 0,
      channel_id: 'main',
      upstream_model: 'upstream-model',
      kind: 'uncertain',
      status: 500,
      upstream_request_id: 'up_42',
      mayCost: true,
      costsNothing: false,
    })
    assert.deepEqual([rows[1]?.kind, rows[1]?.status, rows[1]?.mayCost], ['uncertain', null, true])
    assert.deepEqual([rows[2]?.kind, rows[2]?.status, rows[2]?.costsNothing], ['safe', 429, true])
    const { output } = await runCommand(['attempts', '--days', '1'], {
      DATABASE_URL: gateway.database?.url ?? '',
      TOLLGATE_DATA: gateway.dataFolder,
    })
    assert.match(output, /^main +upstream-model +uncertain +upstream_error +2 +0\.004\d+$/m)
    assert.equal((await gateway.usage()).pagination.total, 1)
  })

  it('is a threshold that is none, at the start', async () => {
    const config = configFor(upstream.url, 'alerts: { limit_used: ["0.8"] }')
    const { code, errors } = await Gateway.startFailing({ config })
    assert.equal(code, 1)
    assert.match(errors, /alerts\.limit_used/)
  })
})
