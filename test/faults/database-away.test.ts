import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
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
