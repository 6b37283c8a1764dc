import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { answerWhole, chunk, configFor, DONE, lastChunk, ScriptedUpstream, usageChunk } from '../support/upstream.ts'

const request = { model: 'test-chat', messages: [{ role: 'user', content: 'Hi' }] }

async function temporaryFolder(): Promise<string> {
  return mkdtemp(path.join(tmpdir(), 'tollgate-start-'))
}

describe('the first start', () => {
  it('needs no configuration: it makes a tenant, keeps its credentials, and answers', async () => {
    const gateway = await Gateway.start({ database: 'embedded' })
    try {
      const file = path.join(gateway.dataFolder, 'credentials.json')
      assert.equal((await stat(file)).mode & 0o777, 0o600)
      const credentials = JSON.parse(await readFile(file, 'utf8'))
      assert.deepEqual(Object.keys(credentials).toSorted(), ['api_key', 'api_key_id', 'base_url', 'management_token'])
      assert.equal(credentials.base_url, gateway.baseUrl)
      const response = await gateway.post('/v1/chat/completions', {
        model: 'sandbox-chat',
        messages: [{ role: 'user', content: 'Hello!' }],
      })
      assert.equal(response.status, 200)
      const report = await eventually('the report', async () => {
        const found = await gateway.usage()
        return found.pagination.total === 1 ? found : undefined
      })
      assert.notEqual(report.summary.total_cost_decimal, '0')
    } finally {
      await gateway.stop()
    }
  })

  it('works in a folder whose path is too long for a socket', async () => {
    const folder = await temporaryFolder()
    const dataFolder = path.join(folder, 'a-rather-long-name-'.repeat(6), 'data')
    await mkdir(dataFolder, { recursive: true })
    const gateway = await Gateway.start({ database: 'embedded', dataFolder })
    try {
      assert.equal((await gateway.fetch('/readyz')).status, 200)
    } finally {
      await gateway.stop()
      await rm(folder, { recursive: true, force: true })
    }
  })

  it('works as root in a folder that only root can enter', {
    skip: process.getuid?.() !== 0 && 'not root',
  }, async () => {
    const folder = await temporaryFolder()
    await chmod(folder, 0o700)
    const dataFolder = path.join(folder, 'data')
    await mkdir(dataFolder)
    const gateway = await Gateway.start({ database: 'embedded', dataFolder })
    try {
      assert.equal((await gateway.fetch('/readyz')).status, 200)
    } finally {
      await gateway.stop()
      await rm(folder, { recursive: true, force: true })
    }
  })
})

describe('a second start', () => {
  it('on a data folder in use says who uses it and exits', async () => {
    const gateway = await Gateway.start({ database: 'embedded' })
    try {
      const { code, errors } = await Gateway.startFailing({ database: 'embedded', dataFolder: gateway.dataFolder })
      assert.equal(code, 1)
      assert.match(errors, /Another Tollgate \(process \d+ on .*, http:\/\/127\.0\.0\.1:\d+\) is using the data folder/)
      assert.equal((await gateway.fetch('/readyz')).status, 200, 'the first one is unharmed')
    } finally {
      await gateway.stop()
    }
  })

  it('keeps tenant and usage, and makes no new credentials', async () => {
    const dataFolder = await temporaryFolder()
    const first = await Gateway.start({ database: 'embedded', dataFolder })
    await first.post('/v1/embeddings', { model: 'sandbox-embedding', input: 'hello' })
    assert.equal(await first.terminate(), 0)
    const second = await Gateway.start({ database: 'embedded', dataFolder })
    try {
      assert.equal(second.apiKey, first.apiKey)
      assert.equal((await second.usage()).pagination.total, 1)
    } finally {
      await second.stop()
      await rm(dataFolder, { recursive: true, force: true })
    }
  })
})

describe('a start with a mistake', () => {
  let database: TestDatabase
  before(async () => {
    database = await createTestDatabase()
  })
  after(() => database.drop())

  const good = configFor('http://127.0.0.1:1')
  const cases: readonly (readonly [name: string, config: string, message: RegExp])[] = [
    ['YAML that is none', 'channels:\n  - {id: a\nmodels: [', /tollgate\.yaml:\d+: /],
    ['a variable inside braces', good.replace('sk-upstream-secret', `\${KEY}`), /:3: .*a variable needs quotes/],
    ['an unknown key', 'chanels: []', /tollgate\.yaml:1: chanels is not a known field/],
    [
      'a price without quotes',
      good.replace('input: "1"', 'input: 1.50'),
      /tollgate\.yaml:\d+: models\[0\]\.price\.input must be a string; write it in quotes: "1\.50"/,
    ],
    ['a model without a price', good.replace(/ {4}price: .*\n/, ''), /:\d+: model "test-chat" has no price/],
    ['a price without output', good.replace(', output: "2"', ''), /the price of model "test-chat" lacks output/],
    [
      'an unknown channel',
      good.replace('channel: main', 'channel: mian'),
      /:\d+: offer names channel "mian", which is not declared/,
    ],
    [
      'an unknown provider',
      good.replace('provider: openai', 'provider: opnai'),
      /there is no provider "opnai"; known: .*openai/,
    ],
    [
      'a variable that is not set',
      good.replace('sk-upstream-secret', `"\${NO_SUCH_KEY}"`),
      /:3: the environment variable NO_SUCH_KEY is not set/,
    ],
    ['a time that is none', `${good}\nresponses: { keep: 0d }`, /tollgate\.yaml:\d+: responses\.keep must match/],
    ['a fee without quotes', `${good}\nbyok: { fee: { percent: 5 } }`, /byok\.fee\.percent must be .*quotes: "5"/],
    [
      'a fee that is too fine',
      `${good}\nbyok: { fee: { per_request: "0.${'0'.repeat(18)}1" } }`,
      /tollgate\.yaml:\d+: the fee cannot be exact: .* more than 18 digits/,
    ],
    [
      'a strategy that there is none of',
      `${good}\nrouting: { strategy: slowest }`,
      /routing\.strategy must be one of "weighted", "cheapest" or "fastest"/,
    ],
    ['a share beyond all', `${good}\nrouting: { retry_share: 2 }`, /tollgate\.yaml:\d+: routing\.retry_share must be/],
    [
      'a weight of nothing',
      good.replace('{ channel: main, ', '{ channel: main, weight: 0, '),
      /tollgate\.yaml:\d+: models\[0\]\.offers\[0\]\.weight must be/,
    ],
    ['a duplicate model', good.replace('id: test-embedding', 'id: test-chat'), /model "test-chat" is declared twice/],
  ]
  for (const [name, config, message] of cases) {
    it(`says so: ${name}`, async () => {
      const { code, errors } = await Gateway.startFailing({ config, database })
      assert.equal(code, 1)
      assert.match(errors, message)
      assert.ok(!errors.includes('    at '), 'no stack trace')
    })
  }

  it('says so: the port is taken', async () => {
    const server = net.createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as net.AddressInfo
    const { code, errors } = await Gateway.startFailing({ database, environment: { PORT: String(port) } })
    server.close()
    assert.equal(code, 1)
    assert.match(errors, new RegExp(`Port ${port} on 127\\.0\\.0\\.1 is taken`))
  })

  it('says so: environment variables that make no sense', async () => {
    for (const [name, value] of Object.entries({
      PORT: 'http',
      TOLLGATE_WORKERS: '0',
      DATABASE_URL: 'mysql://x',
      TOLLGATE_SECRET: 'short',
      TOLLGATE_TRUSTED_NETWORKS: '10.0.0.0/8, example.com',
      LOG_LEVEL: 'loud',
    })) {
      const { code, errors } = await Gateway.startFailing({ database, environment: { [name]: value } })
      assert.equal(code, 1)
      assert.match(errors, new RegExp(name))
    }
  })

  it('says so: the database cannot be reached', async () => {
    const { code, errors } = await Gateway.startFailing({
      environment: { DATABASE_URL: 'postgres://x@127.0.0.1:1/x' },
      database: 'embedded',
    })
    assert.equal(code, 1)
    assert.match(errors, /The database that DATABASE_URL names cannot be reached/)
  })

  it('says so: the database was set up with another secret', async () => {
    const own = await createTestDatabase()
    const first = await Gateway.start({ database: own })
    const { code, errors } = await Gateway.startFailing({ database: own })
    assert.equal(code, 1)
    assert.match(errors, /set up with another TOLLGATE_SECRET/)
    await first.stop()
    await own.drop()
  })
})

describe('SIGTERM', () => {
  it('lets streams finish, refuses new connections, ships all usage and exits 0', async () => {
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
    const upstream = await ScriptedUpstream.start(async (_request, response) => {
      response.setHeader('content-type', 'text/event-stream')
      response.write(chunk({ content: 'Hel' }))
      await mayEnd
      response.end(chunk({ content: 'lo' }) + lastChunk() + usageChunk() + DONE)
    })
    const database = await createTestDatabase()
    const gateway = await Gateway.start({ config: configFor(upstream.url), database })
    const response = await gateway.post('/v1/chat/completions', { ...request, stream: true })
    const exited = gateway.terminate()
    await eventually('the drain', () => gateway.lines('node.draining')[0])
    await assert.rejects(gateway.fetch('/healthz'))
    end()
    assert.ok((await response.text()).endsWith(DONE))
    assert.equal(await exited, 0)
    const next = await Gateway.start({ config: configFor(upstream.url), database, dataFolder: gateway.dataFolder })
    assert.equal((await next.usage()).pagination.total, 1)
    await next.stop()
    await gateway.stop()
    await database.drop()
    await upstream.stop()
  })

  it('ends streams that outlast the deadline with an error event, and records them', async () => {
    const upstream = await ScriptedUpstream.start((_request, response) => {
      response.setHeader('content-type', 'text/event-stream')
      response.write(chunk({ content: 'forever' }))
    })
    const config = `${configFor(upstream.url)}\ndrain: { deadline: 200ms }\n`
    const gateway = await Gateway.start({ config })
    const response = await gateway.post('/v1/chat/completions', { ...request, stream: true })
    const code = gateway.terminate()
    const text = await response.text()
    assert.match(text, /"forever"[\s\S]*"type":"server_error","code":"service_unavailable"/)
    assert.ok(!text.includes(DONE.trim()))
    assert.equal(await code, 0)
    await gateway.stop()
    await upstream.stop()
  })

  it('does not wait for streams when it comes twice', async () => {
    const upstream = await ScriptedUpstream.start((_request, response) => {
      response.setHeader('content-type', 'text/event-stream')
      response.write(chunk({ content: 'forever' }))
    })
    const gateway = await Gateway.start({ config: configFor(upstream.url) })
    const response = await gateway.post('/v1/chat/completions', { ...request, stream: true })
    const exited = once(gateway.process, 'exit')
    gateway.process.kill('SIGTERM')
    await eventually('the drain', () => gateway.lines('node.draining')[0])
    gateway.process.kill('SIGTERM')
    assert.match(await response.text(), /service_unavailable/)
    assert.deepEqual((await exited)[0], 0)
    await gateway.stop()
    await upstream.stop()
  })
})

describe('a change of the configuration file', () => {
  it('takes effect without a restart, and a bad file changes nothing', async () => {
    const upstream = await ScriptedUpstream.start(answerWhole())
    const gateway = await Gateway.start({ config: configFor(upstream.url) })
    const use = async (model: string) => (await gateway.post('/v1/chat/completions', { ...request, model })).status
    try {
      assert.equal(await use('test-chat'), 200)
      await gateway.writeConfig(configFor(upstream.url).replace('id: test-chat', 'id: renamed-chat'))
      await eventually('the reload', () => gateway.lines('config.reloaded')[0])
      assert.equal(await use('renamed-chat'), 200)
      assert.equal(await use('test-chat'), 400)
      await gateway.writeConfig('models: [')
      const rejected = await eventually('the rejection', () => gateway.lines('config.rejected')[0])
      assert.match(String(rejected.problem), /tollgate\.yaml:1/)
      assert.equal(await use('renamed-chat'), 200)
      await gateway.writeConfig(configFor(upstream.url))
      gateway.process.kill('SIGHUP')
      await eventually('the second reload', () => gateway.lines('config.reloaded')[1])
      assert.equal(await use('test-chat'), 200)
    } finally {
      await gateway.stop()
      await upstream.stop()
    }
  })
})

describe('several workers', () => {
  it('share the port, count together, and are replaced when they die', async () => {
    const upstream = await ScriptedUpstream.start(answerWhole())
    const gateway = await Gateway.start({ config: configFor(upstream.url), environment: { TOLLGATE_WORKERS: '2' } })
    try {
      for (let i = 0; i < 10; i++) {
        assert.equal(
          (await gateway.post('/v1/chat/completions', request, { headers: { connection: 'close' } })).status,
          200,
        )
      }
      await eventually('ten requests in the report', async () =>
        (await gateway.usage()).pagination.total === 10 ? true : undefined,
      )
      const metrics = await (await gateway.fetch('/metrics')).text()
      assert.match(metrics, /tollgate_requests_total\{route="\/v1\/chat\/completions",status="200"\} 10/)
      const children = (await readFile(`/proc/${gateway.process.pid}/task/${gateway.process.pid}/children`, 'utf8'))
        .trim()
        .split(' ')
      process.kill(Number(children[0]), 'SIGKILL')
      await eventually('the loss', () => gateway.lines('worker.ended')[0])
      await eventually('five good answers in a row', async () => {
        for (let i = 0; i < 5; i++) {
          const { status } = await gateway.post('/v1/chat/completions', request, { headers: { connection: 'close' } })
          if (status !== 200) return undefined
        }
        return true
      })
      assert.equal(await gateway.terminate(), 0)
    } finally {
      await gateway.stop()
      await upstream.stop()
    }
  })
})
