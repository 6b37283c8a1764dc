import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { answerWhole, configFor, ScriptedUpstream } from '../support/upstream.ts'

const request = { model: 'test-chat', messages: [{ role: 'user', content: 'Hi' }] }

describe('tollgate beside a running gateway', () => {
  let upstream: ScriptedUpstream
  let gateway: Gateway
  let environment: Record<string, string>

  before(async () => {
    upstream = await ScriptedUpstream.start(answerWhole())
    gateway = await Gateway.start({ config: configFor(upstream.url), database: 'embedded' })
    environment = { TOLLGATE_DATA: gateway.dataFolder, TOLLGATE_CONFIG: path.join(gateway.dataFolder, 'tollgate.yaml') }
  })

  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })

  const tollgate = (...args: string[]) => runCommand(args, environment)

  it('lists the first tenant with its credit', async () => {
    const { code, output } = await tollgate('orgs', 'list')
    assert.equal(code, 0)
    assert.match(output, /org_\w{24}\s+default\s+user\s+default\s+100 USD/)
  })

  it('creates an organization and a key that works at once and is shown in full only then', async () => {
    const created = await tollgate('orgs', 'create', 'acme', '--role', 'vip')
    assert.equal(created.code, 0, created.errors)
    const key = await tollgate(
      'keys',
      'create',
      '--org',
      'acme',
      '--name',
      'ci',
      '--models',
      'test-chat',
      '--limit',
      '25.50',
    )
    const [id = '', credential = ''] = key.output.split('\n')
    assert.match(id, /^key_\w{24}$/)
    assert.match(credential, /^sk-\w{49}$/)
    assert.equal((await gateway.post('/v1/chat/completions', request, { key: credential })).status, 402)
    const credit = ['credit', 'add', 'acme', '12.50', '--once', 'invoice-1']
    assert.match((await tollgate(...credit)).output, /^acme had 0 USD and has 12\.5 USD/)
    assert.match((await tollgate(...credit)).output, /^This was done before\. acme has 12\.5 USD/)
    assert.equal((await gateway.post('/v1/chat/completions', request, { key: credential })).status, 200)
    const embedding = await gateway.post('/v1/embeddings', { model: 'test-embedding', input: 'x' }, { key: credential })
    assert.equal(embedding.status, 403)
    const list = await tollgate('keys', 'list', '--org', 'acme')
    assert.match(
      list.output,
      new RegExp(`${id}\\s+ci\\s+${credential.slice(0, 11)}…\\s+active\\s+\\S+ USD\\s+25.5 USD\\s+test-chat\\s+-`),
    )
    assert.ok(!list.output.includes(credential))
  })

  it('revokes a key, which is refused within a second', async () => {
    const { output } = await tollgate('keys', 'create')
    const [id = '', credential = ''] = output.split('\n')
    assert.equal((await gateway.post('/v1/chat/completions', request, { key: credential })).status, 200)
    const revoked = await tollgate('keys', 'revoke', id)
    assert.equal(revoked.output, `${id} is revoked.\n`)
    const refusal = await eventually(
      'the refusal',
      async () => {
        const response = await gateway.post('/v1/chat/completions', request, { key: credential })
        return response.status === 401 ? ((await response.json()) as { error: { code: string } }) : undefined
      },
      1_000,
    )
    assert.equal(refusal.error.code, 'expired_api_key')
    const again = await tollgate('keys', 'revoke', id)
    assert.equal(again.code, 1)
    assert.match(again.errors, /could be revoked; see: tollgate keys list/)
  })

  it('changes a key, and gives it another secret', async () => {
    const { output } = await tollgate('keys', 'create', '--limit', '5', '--delivery', 'verified', '--rate', '60')
    const [id = '', credential = ''] = output.split('\n')
    const shown = async () =>
      (await tollgate('keys', 'list')).output.split('\n').find(line => line.startsWith(id)) ?? ''
    assert.match(await shown(), /Default Key\s+\S+\s+active\s+0 USD\s+5 USD\s+all\s+-\s+verified\s+60\/min$/)
    const changed = await tollgate('keys', 'update', id, '--name', 'renamed', '--limit', 'none', '--status', 'inactive')
    assert.equal(changed.output, `${id} is changed.\n`, changed.errors)
    assert.match(await shown(), /renamed\s+\S+\s+inactive\s+0 USD\s+-\s+all\s+-\s+verified\s+60\/min$/)
    assert.equal((await tollgate('keys', 'update', id, '--status', 'active', '--expires', '2020-01-01T00:00Z')).code, 0)
    assert.match(await shown(), /\s+expired\s+/)
    assert.equal((await tollgate('keys', 'update', id, '--expires', 'none')).code, 0)
    const rotated = (await tollgate('keys', 'rotate', id)).output.split('\n')
    assert.equal(rotated[0], id)
    assert.equal((await gateway.post('/v1/chat/completions', request, { key: rotated[1] ?? '' })).status, 200)
    assert.equal((await gateway.post('/v1/chat/completions', request, { key: credential })).status, 401)
  })

  it('overrides what a role allows an organization', async () => {
    const { output, errors } = await tollgate('orgs', 'set-rate', 'default', '250')
    assert.equal(output, 'default may now send 250 requests a minute.\n', errors)
    assert.match((await tollgate('orgs', 'list')).output, /default.* USD\s+250\/min$/m)
    assert.equal((await tollgate('orgs', 'set-rate', 'default', 'none')).code, 0)
    assert.match((await tollgate('orgs', 'list')).output, /default.* USD\s+1000\/min by role$/m)
  })

  it('makes management tokens for a workspace', async () => {
    const { output } = await tollgate('tokens', 'create', '--name', 'reports')
    const [id = '', credential = ''] = output.split('\n')
    assert.match(credential, /^mt-\w{49}$/)
    const report = await gateway.fetch(`/v1/management/api-keys/${gateway.apiKeyId}/usage`, { key: credential })
    assert.equal(report.status, 200)
    assert.match((await tollgate('tokens', 'list')).output, new RegExp(`${id}\\s+reports`))
    assert.equal((await tollgate('tokens', 'revoke', id)).code, 0)
  })

  it('says what is wrong with its arguments', async () => {
    const cases: [string[], RegExp][] = [
      [['keys', 'create', '--org', 'nobody'], /There is no organization "nobody"; see: tollgate orgs list/],
      [['keys', 'create', '--workspace', 'nowhere'], /Organization "default" has no workspace "nowhere"/],
      [['keys', 'create', '--limit', 'ten'], /"ten" is no amount in US dollars like 25.50/],
      [['keys', 'create', '--expires', 'soon'], /"soon" is no time like/],
      [['keys', 'create', '--expires', '2020-01-01T00:00:00Z'], /--expires has passed already/],
      [['keys', 'create', '--rate', '0'], /"0" is no number of requests a minute/],
      [
        ['keys', 'create', '--delivery', 'cheap'],
        /There is no delivery "cheap"; it is one of auto, verified, official/,
      ],
      [['keys', 'update', 'key_unheard0f'], /There is no key "key_unheard0f" that could be changed/],
      [['orgs', 'create', 'default'], /There is already an organization "default"/],
      [['orgs', 'set-role', 'default', 'king'], /There is no role "king"; roles are user, partner, vip/],
    ]
    for (const [args, message] of cases) {
      const { code, errors } = await tollgate(...args)
      assert.equal(code, 1)
      assert.match(errors, message)
      assert.ok(!errors.includes('    at '), 'no stack trace')
    }
  })

  it('finds nothing wrong with a healthy installation', async () => {
    upstream.script = (_request, response) => void response.end('{"data":[]}')
    const { code, output } = await tollgate('doctor')
    upstream.script = answerWhole()
    assert.equal(code, 0, output)
    assert.match(output, /node\s+ok/)
    assert.match(output, /configuration\s+ok\s+1 channels, 2 public models/)
    assert.match(output, /data folder\s+ok\s+.*in use by a running Tollgate/)
    assert.match(output, /database\s+ok\s+Postgres 18\.\d+, schema up to date/)
    assert.match(output, /channel main\s+ok\s+http:\/\/127\.0\.0\.1:\d+\/v1 answers/)
  })

  it('tells a refused key from an unreachable channel, with what to do', async () => {
    upstream.script = (_request, response) => void response.writeHead(401).end('{}')
    await writeFile(
      path.join(gateway.dataFolder, 'other.yaml'),
      `${configFor(upstream.url).replace('channels:', 'channels:\n  - { id: dead, provider: openai, base_url: "http://127.0.0.1:1/v1" }')}`,
    )
    const { code, output } = await runCommand(['doctor'], {
      ...environment,
      TOLLGATE_CONFIG: path.join(gateway.dataFolder, 'other.yaml'),
    })
    upstream.script = answerWhole()
    assert.equal(code, 1)
    assert.match(output, /channel main\s+fail\s+the key is refused \(401\)\s+check api_key/)
    assert.match(output, /channel dead\s+fail\s+.*connect.*\s+check base_url and the network/)
  })
})

describe('tollgate without a running gateway', () => {
  it('starts the embedded database for its own time', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tollgate-cli-'))
    try {
      const environment = { TOLLGATE_DATA: folder }
      assert.equal((await runCommand(['orgs', 'create', 'early'], environment, folder)).code, 0)
      const { output } = await runCommand(['orgs', 'list'], environment, folder)
      assert.match(output, /early/)
      const doctor = await runCommand(['doctor'], environment, folder)
      assert.equal(doctor.code, 0, doctor.output)
      assert.match(doctor.output, /configuration\s+warn\s+no channel: the sandbox serves/)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  it('prints help that lists the commands and the environment', async () => {
    const { code, output } = await runCommand(['--help'], {})
    assert.equal(code, 0)
    for (const word of ['start', 'doctor', 'orgs', 'keys', 'tokens', 'TOLLGATE_DATA', 'DATABASE_URL'])
      assert.ok(output.includes(word), word)
  })
})
