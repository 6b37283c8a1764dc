import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { Gateway } from '../support/gateway.ts'
import { manage } from '../support/management.ts'
import { configFor, ScriptedUpstream } from '../support/upstream.ts'

const ENVIRONMENT = { TOLLGATE_TRUSTED_NETWORKS: '127.0.0.0/8' }
const SECRET = 'sk-secret-of-a-customer-9f3c'

let upstream: ScriptedUpstream
let gateway: Gateway

before(async () => {
  upstream = await ScriptedUpstream.start(({ headers, path }, response) => {
    response.statusCode = STATUSES[headers.authorization ?? ''] ?? (path === '/v1/models' ? 200 : 404)
    response.end('{}')
  })
  gateway = await Gateway.start({ config: configFor(upstream.url), environment: ENVIRONMENT })
})

after(async () => {
  await gateway.stop()
  await upstream.stop()
})

/** What the upstream answers to keys that it does not simply take. */
const STATUSES: Readonly<Record<string, number>> = { 'Bearer sk-bad': 401, 'Bearer sk-ill': 500 }

const create = (body: unknown) => manage(gateway, 'POST', 'provider-keys', { body })
const created = async (fields: object = {}) => {
  const { status, body } = await create({ provider: 'openai', key: SECRET, base_url: `${upstream.url}/v1`, ...fields })
  assert.equal(status, 201, JSON.stringify(body))
  return body
}
const change = (id: string, body: unknown) => manage(gateway, 'PATCH', `provider-keys/${id}`, { body })
const read = (id: string) => manage(gateway, 'GET', `provider-keys/${id}`)

describe('bringing a provider key', () => {
  it('shows everything of it but the secret', async () => {
    const body = await created({
      name: 'Ours',
      models: ['test-chat', 'test-chat'],
      upstream_models: { 'test-chat': 'their-name' },
      priority: 3,
      fallback: 'platform',
    })
    const { id, created_at, ...fields } = body
    assert.match(id, /^pkey_[0-9A-Za-z]{24}$/)
    assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000)
    assert.deepEqual(fields, {
      object: 'provider_key',
      name: 'Ours',
      provider: 'openai',
      base_url: `${upstream.url}/v1`,
      key_hint: '9f3c',
      models: ['test-chat'],
      upstream_models: { 'test-chat': 'their-name' },
      priority: 3,
      fallback: 'platform',
      status: 'active',
      disabled_reason: null,
      disabled_at: null,
      last_used_at: null,
      last_tested_at: null,
      last_test: null,
    })
    assert.deepEqual((await read(id)).body, body)
  })

  it('needs a provider and a key, and takes a credential of several parts', async () => {
    const { status, body } = await create({ provider: 'anthropic', key: 'sk-short' })
    assert.equal(status, 201)
    assert.deepEqual(
      [body.name, body.base_url, body.key_hint, body.models, body.priority, body.fallback],
      ['anthropic', null, '', [], 0, 'none'],
    )
    const credential = JSON.stringify({ access_key_id: 'AKIA', secret_access_key: 'x'.repeat(40) }, null, 2)
    const parts = await created({ key: credential })
    assert.equal(parts.key_hint, '')
  })

  it('refuses what it does not understand, and names the field', async () => {
    const fit = { provider: 'openai', key: SECRET }
    const cases: [body: unknown, param: string | undefined, message: RegExp][] = [
      [{}, 'provider', /is required/],
      [{ provider: 'openai' }, 'key', /is required/],
      [{ ...fit, provider: 'nobody' }, 'provider', /must be one of anthropic, .*google, .*openai/],
      // Found on the operator's own machine, or only with settings of the operator's.
      [{ ...fit, provider: 'ollama' }, 'provider', /must be one of/],
      [{ ...fit, provider: 'bedrock' }, 'provider', /must be one of/],
      [{ ...fit, provider: 5 }, 'provider', /must be a string/],
      [{ ...fit, key: '' }, 'key', /must not be empty/],
      [{ ...fit, key: '  ' }, 'key', /must not be empty/],
      [{ ...fit, key: 'sk-a\r\nx-evil: 1' }, 'key', /visible ASCII/],
      [{ ...fit, key: 'sk-ключ' }, 'key', /visible ASCII/],
      [{ ...fit, key: '{"a":' }, 'key', /visible ASCII|JSON/],
      [{ ...fit, key: 'x'.repeat(20_000) }, 'key', /at most 16384 characters/],
      [{ ...fit, base_url: 'example.com' }, 'base_url', /must be a URL/],
      [{ ...fit, base_url: 'http://example.org@10.0.0.1/' }, 'base_url', /user name/],
      [{ ...fit, base_url: 'https://10.0.0.1/v1' }, 'base_url', /not a public address/],
      [{ ...fit, base_url: 'https://0xa9fea9fe/' }, 'base_url', /not a public address/],
      [{ ...fit, base_url: 'http://8.8.8.8/' }, 'base_url', /must begin with https/],
      [{ ...fit, base_url: 'gopher://example.com/' }, 'base_url', /must begin with https/],
      [{ ...fit, base_url: 'https://example.com/v1?x=1' }, 'base_url', /query/],
      [{ ...fit, base_url: 'https://example.com/v1#x' }, 'base_url', /fragment/],
      [{ ...fit, name: 'a\u0000b' }, 'name', /control characters/],
      [{ ...fit, models: 'all' }, 'models', /must be an array/],
      [{ ...fit, upstream_models: { a: 5 } }, 'upstream_models.a', /must be a string/],
      [{ ...fit, upstream_models: { a: 'x\u0000' } }, 'upstream_models', /control characters/],
      [{ ...fit, priority: -1 }, 'priority', /must be >= 0/],
      [{ ...fit, fallback: 'maybe' }, 'fallback', /"none" or "platform"/],
      [{ ...fit, status: 'inactive' }, 'status', /is not a known field/],
      ['{"__proto__":{"key":"x"}}', undefined, /is not a known field|is required/],
    ]
    for (const [body, param, message] of cases) {
      const answer = await create(body)
      assert.equal(answer.status, 400, JSON.stringify([body, answer.body]))
      if (param !== undefined) assert.equal(answer.body.error.param, param, JSON.stringify(answer.body))
      assert.match(answer.body.error.message, message)
      assert.ok(!JSON.stringify(answer.body).includes(SECRET))
    }
  })
})

describe('the list of provider keys', () => {
  it('goes from the newest to the oldest, a page at a time, each key once', async () => {
    const made: string[] = []
    for (let i = 0; i < 5; i++) made.push((await created({ name: `listed ${i}` })).id)
    const seen: string[] = []
    for (let after: string | undefined; ; after = seen.at(-1)) {
      const { body } = await manage(gateway, 'GET', `provider-keys?limit=2${after ? `&after=${after}` : ''}`)
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      if (!body.has_more) break
    }
    assert.deepEqual(seen.slice(0, 5), made.toReversed())
    assert.equal(new Set(seen).size, seen.length)
    for (const after of ['pkey_000000000000000000000000', 'x', '%00']) {
      const answer = await manage(gateway, 'GET', `provider-keys?after=${after}`)
      assert.deepEqual([answer.status, answer.body.error.param], [400, 'after'], after)
    }
  })
})

describe('changing a provider key', () => {
  it('changes what is sent, keeps what is absent, clears what is null', async () => {
    const body = await created({ models: ['test-chat'], upstream_models: { 'test-chat': 'x' }, priority: 1 })
    const changes = { name: 'after', priority: 5, fallback: 'platform', status: 'inactive' }
    const changed = await change(body.id, changes)
    assert.deepEqual(changed.body, { ...body, ...changes })
    const cleared = await change(body.id, { models: null, upstream_models: null })
    assert.deepEqual(cleared.body, { ...changed.body, models: [], upstream_models: {} })
    assert.deepEqual((await change(body.id, {})).body, cleared.body)
  })

  it('cannot move it elsewhere, where its secret would be told to somebody else', async () => {
    const { id } = await created()
    for (const fields of [{ base_url: 'https://evil.example/' }, { provider: 'google' }, { key: 'sk-other' }]) {
      const answer = await change(id, fields)
      assert.deepEqual([answer.status, answer.body.error.param], [400, Object.keys(fields)[0]])
    }
    const moved = await manage(gateway, 'POST', `provider-keys/${id}/rotate`, {
      body: { key: 'sk-other', base_url: 'https://evil.example/' },
    })
    assert.equal(moved.status, 400)
  })

  it('is 404 for a key that never was', async () => {
    for (const id of ['pkey_000000000000000000000000', 'nonsense', '%00', 'key_%27%3B--']) {
      const answers = [
        await read(id),
        await change(id, {}),
        await manage(gateway, 'DELETE', `provider-keys/${id}`),
        await manage(gateway, 'POST', `provider-keys/${id}/rotate`, { body: { key: 'x' } }),
        await manage(gateway, 'POST', `provider-keys/${id}/test`),
      ]
      for (const { status, body } of answers) assert.deepEqual([status, body.error.code], [404, 'not_found'], id)
    }
  })
})

describe('testing a provider key', () => {
  it('says whether the provider takes it, and keeps the outcome', async () => {
    const cases: [key: string, outcome: string, upstreamStatus: number | null][] = [
      [SECRET, 'ok', 200],
      ['sk-bad', 'refused', 401],
      ['sk-ill', 'failed', 500],
    ]
    for (const [key, outcome, status] of cases) {
      const { id } = await created({ key })
      const { body } = await manage(gateway, 'POST', `provider-keys/${id}/test`)
      assert.deepEqual([body.provider_key_id, body.outcome, body.upstream_status], [id, outcome, status])
      const shown = (await read(id)).body
      assert.deepEqual([shown.last_test, shown.status], [outcome, 'active'])
      assert.ok(Math.abs(Date.parse(shown.last_tested_at) - Date.now()) < 60_000)
    }
    const nobody = await created({ base_url: 'http://127.0.0.1:9/v1' })
    assert.equal((await manage(gateway, 'POST', `provider-keys/${nobody.id}/test`)).body.outcome, 'unreachable')
  })
})

describe('tollgate provider-keys', () => {
  const tollgate = (args: readonly string[], input = '') =>
    runCommand(
      ['provider-keys', ...args],
      { ...ENVIRONMENT, TOLLGATE_DATA: gateway.dataFolder, DATABASE_URL: gateway.database?.url ?? '' },
      { input },
    )

  it('creates, lists, tests, rotates and deletes, and shows no secret', async () => {
    const base = `${upstream.url}/v1`
    const options = ['--provider', 'openai', '--name', 'ci', '--base-url', base, '--models', 'test-chat']
    const made = await tollgate(['create', ...options], `${SECRET}\n`)
    assert.equal(made.code, 0, made.errors)
    const id = made.output.trim()
    const { body } = await read(id)
    assert.deepEqual([body.name, body.base_url, body.models, body.key_hint], ['ci', base, ['test-chat'], '9f3c'])
    const tested = await tollgate(['test', id])
    assert.deepEqual([tested.code, tested.output], [0, 'ok: The provider takes the key.\n'])
    const rotated = await tollgate(['rotate', id], 'sk-bad')
    assert.equal(rotated.output, `${id} has another secret.\n`, rotated.errors)
    const retested = await tollgate(['test', id])
    assert.deepEqual([retested.code, retested.output], [1, 'refused: The provider refuses the key.\n'])
    const listed = await tollgate(['list'])
    assert.match(
      listed.output,
      new RegExp(`${id}\\s+ci\\s+openai\\s+…\\s+${base}\\s+active\\s+test-chat\\s+none\\s+refused`),
    )
    for (const { output, errors } of [made, tested, rotated, retested, listed]) {
      assert.ok(!(output + errors).includes(SECRET) && !(output + errors).includes('sk-bad'))
    }
    assert.equal((await tollgate(['delete', id])).output, `${id} is deleted.\n`)
    assert.equal((await read(id)).status, 404)
  })

  it('says what is wrong with its arguments', async () => {
    const cases: [args: string[], input: string, message: RegExp][] = [
      [['create', '--provider', 'openai'], '', /The secret must not be empty/],
      [
        ['create', '--provider', 'openai', '--base-url', 'https://10.0.0.1/'],
        SECRET,
        /--base-url is not a public address/,
      ],
      [['rotate', 'pkey_unheard0f'], SECRET, /There is no provider key "pkey_unheard0f"/],
    ]
    for (const [args, input, message] of cases) {
      const { code, errors } = await tollgate(args, input)
      assert.equal(code, 1)
      assert.match(errors, message)
    }
  })
})
