import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import pg from 'pg'
import { EmbeddedPostgres } from '#storage/embedded/server.ts'
import { mintCredential } from '#tenants/credential.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { answerWhole, configFor, ScriptedUpstream } from '../support/upstream.ts'

const request = { model: 'test-chat', messages: [{ role: 'user', content: 'Hi' }] }

async function reportsTotal(gateway: Gateway, total: number): Promise<void> {
  await eventually(`${total} requests in the report`, async () => {
    const report = await gateway.usage()
    return report.pagination.total === total ? true : undefined
  })
}

describe('when the database is away', () => {
  it('serves known callers, refuses what it cannot know, and loses nothing', { timeout: 60_000 }, async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tollgate-away-'))
    const server = () => new EmbeddedPostgres({ dataFolder: folder, onExit: () => {}, onProgress: () => {} })
    const first = server()
    await first.start()
    const { socketFolder } = first.address as { socketFolder: string }
    const upstream = await ScriptedUpstream.start(answerWhole())
    const gateway = await Gateway.start({
      config: configFor(upstream.url),
      database: 'embedded',
      environment: { DATABASE_URL: `postgres://postgres@localhost/tollgate?host=${encodeURIComponent(socketFolder)}` },
    })
    try {
      assert.equal((await gateway.post('/v1/chat/completions', request)).status, 200)
      await reportsTotal(gateway, 1)
      await first.stop()

      for (let i = 0; i < 5; i++) assert.equal((await gateway.post('/v1/chat/completions', request)).status, 200)
      assert.equal((await gateway.fetch('/healthz')).status, 200)
      assert.equal((await gateway.fetch('/readyz')).status, 503)
      const stranger = await gateway.post('/v1/chat/completions', request, { key: mintCredential('sk') })
      assert.equal(stranger.status, 503)
      assert.ok(stranger.headers.get('retry-after'))
      const report = await gateway.fetch(`/v1/management/api-keys/${gateway.apiKeyId}/usage`, {
        key: gateway.managementToken,
      })
      assert.equal(report.status, 503)

      const second = server()
      await second.start()
      try {
        await reportsTotal(gateway, 6)
        assert.equal((await gateway.fetch('/readyz')).status, 200)
        assert.equal(await gateway.terminate(), 0)
      } finally {
        await second.stop()
      }
    } finally {
      await gateway.stop()
      await upstream.stop()
      await first.stop()
      await rm(folder, { recursive: true, force: true })
    }
  })

  it('charges at a new price only once that can be looked up, and waits with nothing else', {
    timeout: 60_000,
  }, async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tollgate-away-'))
    const server = () => new EmbeddedPostgres({ dataFolder: folder, onExit: () => {}, onProgress: () => {} })
    const first = server()
    await first.start()
    const { socketFolder } = first.address as { socketFolder: string }
    const upstream = await ScriptedUpstream.start(answerWhole())
    const config = configFor(upstream.url)
    const gateway = await Gateway.start({
      config,
      database: 'embedded',
      environment: { DATABASE_URL: `postgres://postgres@localhost/tollgate?host=${encodeURIComponent(socketFolder)}` },
    })
    const outputPrice = async (model: string) => {
      const { data } = (await (await gateway.fetch('/v1/models')).json()) as { data: Record<string, unknown>[] }
      const { pricing } = (data.find(({ id }) => id === model) ?? {}) as { pricing?: { official: { output: string } } }
      return pricing?.official.output
    }
    try {
      assert.equal(await outputPrice('test-chat'), '2')
      await first.stop()

      await gateway.writeConfig(config.replace('id: test-chat', 'id: renamed-chat'))
      await eventually('the reload', () => gateway.lines('config.reloaded')[0])
      assert.equal(await outputPrice('renamed-chat'), '2')
      await gateway.writeConfig(config.replace('output: "2"', 'output: "3"'))
      await eventually('the refusal', () => gateway.lines('config.rejected')[0])
      assert.equal(await outputPrice('renamed-chat'), '2')

      const second = server()
      await second.start()
      try {
        await eventually('the second reload', () => gateway.lines('config.reloaded')[1])
        assert.equal(await outputPrice('test-chat'), '3')
        assert.equal(await gateway.terminate(), 0)
      } finally {
        await second.stop()
      }
    } finally {
      await gateway.stop()
      await upstream.stop()
      await first.stop()
      await rm(folder, { recursive: true, force: true })
    }
  })

  it('answers those whose responses it cannot keep, and says so to its operator', { timeout: 60_000 }, async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tollgate-away-'))
    const server = () => new EmbeddedPostgres({ dataFolder: folder, onExit: () => {}, onProgress: () => {} })
    const first = server()
    await first.start()
    const { socketFolder } = first.address as { socketFolder: string }
    const url = `postgres://postgres@localhost/tollgate?host=${encodeURIComponent(socketFolder)}`
    const upstream = await ScriptedUpstream.start(answerWhole())
    const gateway = await Gateway.start({
      config: configFor(upstream.url),
      database: 'embedded',
      environment: { DATABASE_URL: url },
    })
    const create = async (fields: object = {}) => {
      const response = await gateway.post('/v1/responses', { model: 'test-chat', input: 'Hi', ...fields })
      return { response, text: await response.text(), requestId: response.headers.get('x-request-id') }
    }
    const unkept = async (requestId: string | null) => {
      const line = await eventually('the warning', () =>
        gateway.lines('response.unkept').find(({ request_id }) => request_id === requestId),
      )
      assert.equal(line.level, 'warn')
    }
    try {
      const { id } = JSON.parse((await create()).text)
      const blocker = new pg.Client({ connectionString: url })
      await blocker.connect()
      await blocker.query('begin; lock table stored_responses')
      const held = await create()
      assert.equal(JSON.parse(held.text).output[0].content[0].text, 'Hello')
      await unkept(held.requestId)
      await blocker.end()

      await first.stop()
      const whole = await create()
      assert.equal(JSON.parse(whole.text).output[0].content[0].text, 'Hello')
      await unkept(whole.requestId)
      const streamed = await create({ stream: true })
      assert.match(streamed.text, /event: response\.completed\ndata: .*"Hello".*\n\n$/)
      await unkept(streamed.requestId)
      assert.match(await (await gateway.fetch('/metrics')).text(), /^tollgate_responses_unkept_total 3$/m)
      assert.equal((await create({ store: false })).response.status, 200)
      assert.equal(gateway.lines('response.unkept').length, 3)
      assert.equal((await create({ previous_response_id: id })).response.status, 503)
      assert.equal((await gateway.fetch(`/v1/responses/${id}`)).status, 503)

      const second = server()
      await second.start()
      try {
        assert.equal((await create({ previous_response_id: id })).response.status, 200)
        const lost = await create({ previous_response_id: JSON.parse(whole.text).id })
        assert.equal(JSON.parse(lost.text).error.code, 'previous_response_not_found')
        assert.equal(await gateway.terminate(), 0)
      } finally {
        await second.stop()
      }
    } finally {
      await gateway.stop()
      await upstream.stop()
      await first.stop()
      await rm(folder, { recursive: true, force: true })
    }
  })

  it('starts its embedded server again when that is killed', { timeout: 60_000 }, async () => {
    const upstream = await ScriptedUpstream.start(answerWhole())
    const gateway = await Gateway.start({ config: configFor(upstream.url), database: 'embedded' })
    try {
      assert.equal((await gateway.post('/v1/chat/completions', request)).status, 200)
      await reportsTotal(gateway, 1)
      const pid = (await readFile(path.join(gateway.dataFolder, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]
      execFileSync('kill', ['-9', String(pid)])
      assert.equal((await gateway.post('/v1/chat/completions', request)).status, 200)
      await eventually('the revival', () => gateway.lines('database.revived')[0])
      await reportsTotal(gateway, 2)
    } finally {
      await gateway.stop()
      await upstream.stop()
    }
  })
})
