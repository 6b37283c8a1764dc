import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, it } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { answerWhole, chunk, configFor, DONE, lastChunk, ScriptedUpstream, usageChunk } from '../support/upstream.ts'

/** A mount namespace lets a test have a small disk of its own, as root or where user namespaces are allowed. */
const NAMESPACE =
  process.getuid?.() === 0 ? ['unshare', '--mount'] : ['unshare', '--user', '--map-root-user', '--mount']
const canMount = spawnSync(NAMESPACE[0] as string, [...NAMESPACE.slice(1), 'true']).status === 0
const hasStrace = spawnSync('strace', ['-V']).status === 0

const MEBIBYTE = 1024 * 1024

/** The gateway's folder for journals becomes a disk of `mebibytes`. */
function onSmallDisk(mebibytes: number): string[] {
  const script = `mkdir -p "$TOLLGATE_DATA/nodes" && mount -t tmpfs -o size=${mebibytes}m tmpfs "$TOLLGATE_DATA/nodes" && exec "$@"`
  return [...NAMESPACE, 'sh', '-c', script, 'sh']
}

/** The small disk as seen from outside the gateway's namespace. */
function insideOf(gateway: Gateway, name: string): string {
  return path.join('/proc', String(gateway.process.pid), 'root', gateway.dataFolder, 'nodes', name)
}

const request = { model: 'test-chat', messages: [{ role: 'user', content: 'Hi' }] }

async function becomesReady(gateway: Gateway, wanted: number): Promise<void> {
  await eventually(`/readyz answers ${wanted}`, async () => {
    const { status } = await gateway.fetch('/readyz')
    return status === wanted ? true : undefined
  })
}

describe('when the journal’s disk fails', () => {
  it('refuses work while the disk is nearly full, and takes it up again', {
    skip: !canMount && 'cannot mount here',
  }, async () => {
    const upstream = await ScriptedUpstream.start(answerWhole())
    const gateway = await Gateway.start({ config: configFor(upstream.url), wrapper: onSmallDisk(128) })
    try {
      assert.equal((await gateway.post('/v1/chat/completions', request)).status, 200)
      await writeFile(insideOf(gateway, 'fill'), Buffer.alloc(100 * MEBIBYTE))
      await becomesReady(gateway, 503)
      const refused = await gateway.post('/v1/chat/completions', request)
      assert.equal(refused.status, 503)
      const { error } = (await refused.json()) as { error: Record<string, unknown> }
      assert.equal(error.code, 'service_unavailable')
      assert.equal(error.retryable, true)
      assert.equal(refused.headers.get('retry-after'), String(error.retry_after))
      assert.equal(upstream.seen.length, 1, 'the upstream was not asked for what could not be recorded')
      await rm(insideOf(gateway, 'fill'))
      await becomesReady(gateway, 200)
      assert.equal((await gateway.post('/v1/chat/completions', request)).status, 200)
    } finally {
      await gateway.stop()
      await upstream.stop()
    }
  })

  it('never completes an answer that it could not record', {
    skip: !hasStrace && 'strace is not installed',
  }, async () => {
    const upstream = await ScriptedUpstream.start()
    // The first write belongs to the first request; the next ones fail as a dying disk fails them.
    const wrapper = [
      'strace',
      '-D',
      '-f',
      '-qq',
      '-o',
      '/dev/null',
      '-e',
      'trace=pwrite64',
      '-e',
      'inject=pwrite64:error=EIO:when=2..3',
    ]
    // strace counts by thread, so there is one.
    const environment = { UV_THREADPOOL_SIZE: '1' }
    const gateway = await Gateway.start({ config: configFor(upstream.url), wrapper, environment })
    try {
      upstream.script = answerWhole()
      const good = await gateway.post('/v1/chat/completions', request)
      assert.equal(good.status, 200)
      const withheld = await gateway.post('/v1/chat/completions', { ...request, stream: true })
      const text = await withheld.text()
      assert.ok(text.includes('"content":"Hel"'), 'what was produced has been streamed')
      assert.ok(!text.includes(DONE.trim()), 'the end marker is withheld')
      assert.match(text, /data: \{"error":\{"message":"The answer could not be recorded/)
      // The third write is the probe that must succeed before work is taken up again; the fourth succeeds.
      await becomesReady(gateway, 200)
      const again = await gateway.post('/v1/chat/completions', request)
      assert.equal(again.status, 200)
      const report = await eventually('both good answers', async () => {
        const found = await gateway.usage()
        return found.pagination.total === 2 ? found : undefined
      })
      assert.deepEqual(
        report.items.map(item => item.request_id),
        [again.headers.get('x-request-id'), good.headers.get('x-request-id')],
      )
    } finally {
      await gateway.stop()
      await upstream.stop()
    }
  })

  it('withholds the end of a stream when the disk fills up while it runs', {
    skip: !canMount && 'cannot mount here',
  }, async () => {
    const { promise: filled, resolve: goOn } = Promise.withResolvers<void>()
    const upstream = await ScriptedUpstream.start(async (_request, response) => {
      response.setHeader('content-type', 'text/event-stream')
      response.write(chunk({ content: 'Hel' }))
      await filled
      response.end(chunk({ content: 'lo' }) + lastChunk() + usageChunk() + DONE)
    })
    const gateway = await Gateway.start({ config: configFor(upstream.url), wrapper: onSmallDisk(128) })
    try {
      const response = await gateway.post('/v1/chat/completions', { ...request, stream: true })
      // More than fits: the write stops at the last free page.
      await writeFile(insideOf(gateway, 'fill'), Buffer.alloc(129 * MEBIBYTE)).catch(error =>
        assert.equal(error.code, 'ENOSPC'),
      )
      goOn()
      const text = await response.text()
      assert.ok(text.includes('"content":"lo"'))
      assert.ok(!text.includes(DONE.trim()))
      assert.match(text, /"error"/)
      await rm(insideOf(gateway, 'fill'))
      await becomesReady(gateway, 200)
      assert.equal((await gateway.usage()).pagination.total, 0)
    } finally {
      await gateway.stop()
      await upstream.stop()
    }
  })
})
