import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import { announceChange } from '#storage/changes.ts'
import type { Database } from '#storage/database.ts'
import { mintCredential } from '#tenants/credential.ts'
import { revokeApiKey, revokeManagementToken } from '#tenants/store.ts'
import {
  commandBeside,
  createKey,
  createToken,
  insertKey,
  type MintedCredential,
  secretOf,
} from '../support/credentials.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { RawClient } from '../support/raw-client.ts'
import { answerWhole, configFor, ScriptedUpstream, UNEJECTING } from '../support/upstream.ts'

const UPSTREAM_KEY = 'sk-upstream-secret'
const CHAT = { model: 'test-chat', messages: [{ role: 'user', content: 'Hi' }] }
const EMBEDDING = { model: 'test-embedding', input: 'Hi' }

let upstream: ScriptedUpstream
/** Two processes over one database. */
let gateway: Gateway
let neighbour: Gateway
let restricted: MintedCredential
let otherToken: MintedCredential
/** Everything that must never be seen in a log. */
const secrets: string[] = [UPSTREAM_KEY]

before(async () => {
  upstream = await ScriptedUpstream.start()
  const config = configFor(upstream.url, UNEJECTING)
  gateway = await Gateway.start({ config, environment: { LOG_LEVEL: 'trace' } })
  const secret = await secretOf(gateway)
  const started = Gateway.start({
    config,
    environment: { LOG_LEVEL: 'trace', TOLLGATE_SECRET: secret },
    ...(gateway.database && { database: gateway.database }),
  })
  await commandBeside(gateway, 'orgs', 'create', 'other')
  ;[neighbour, restricted, otherToken] = await Promise.all([
    started,
    createKey(gateway, '--models', 'test-embedding'),
    createToken(gateway, '--org', 'other'),
  ])
  secrets.push(secret, gateway.apiKey, gateway.managementToken, restricted.credential, otherToken.credential)
})

after(async () => {
  await neighbour.stop()
  await gateway.stop()
  await upstream.stop()
})

let opened: Database | undefined

function database(): Database {
  opened ??= gateway.database?.open()
  assert.ok(opened)
  return opened
}

function usagePath(keyId = gateway.apiKeyId): string {
  return `/v1/management/api-keys/${keyId}/usage`
}

interface Refusal {
  readonly status: number
  readonly type: string
  readonly code: string
}

const INVALID: Refusal = { status: 401, type: 'invalid_api_key', code: 'invalid_api_key' }
const EXPIRED: Refusal = { status: 401, type: 'expired_api_key', code: 'expired_api_key' }

async function assertRefused(response: Response, { status, type, code }: Refusal): Promise<string> {
  const text = await response.text()
  const { error } = JSON.parse(text)
  assert.deepEqual({ status: response.status, type: error.type, code: error.code }, { status, type, code })
  assert.equal(typeof error.message, 'string')
  assert.ok(!('retryable' in error))
  return error.message
}

/** Every inference route, asked with one credential. */
function inference(key: string | null, at: Gateway = gateway): Promise<Response[]> {
  return Promise.all([
    at.post('/v1/chat/completions', CHAT, { key }),
    at.post('/v1/chat/completions', { ...CHAT, stream: true }, { key }),
    at.post('/v1/embeddings', EMBEDDING, { key }),
    at.fetch('/v1/models', { key }),
    at.fetch('/v1/models/test-chat', { key }),
    at.fetch('/v1/models/no-such-model', { key }),
  ])
}

describe('a credential of the wrong kind (rule 1)', () => {
  const signingSecret = `whsec_${'a'.repeat(40)}`

  it('a management token is refused at every inference route, and told what it is', async () => {
    for (const response of await inference(gateway.managementToken)) {
      assert.match(await assertRefused(response, INVALID), /management token cannot be used for inference/)
    }
  })

  it('an API key is refused by the management API, and told what it is', async () => {
    const response = await gateway.fetch(usagePath(), { key: gateway.apiKey })
    assert.match(await assertRefused(response, INVALID), /API key cannot be used for management/)
  })

  it('a signing secret is refused by both, and told what it is', async () => {
    const answers = [...(await inference(signingSecret)), await gateway.fetch(usagePath(), { key: signingSecret })]
    for (const response of answers) assert.match(await assertRefused(response, INVALID), /signing secret/)
  })

  it('none of them reaches the upstream', () => {
    assert.equal(upstream.seen.length, 0)
  })
})

describe('what is shown of a credential (rule 2)', () => {
  it('the whole of it only when it is made', async () => {
    const { id, credential } = await createKey(gateway, '--name', 'shown once')
    secrets.push(credential)
    assert.match(credential, /^sk-[0-9A-Za-z]{49}$/)
    const [listed, tokens, report] = await Promise.all([
      commandBeside(gateway, 'keys', 'list'),
      commandBeside(gateway, 'tokens', 'list'),
      gateway.fetch(usagePath(id), { key: gateway.managementToken }),
    ])
    assert.ok(listed.includes(id) && listed.includes('shown once'))
    assert.ok(!listed.includes(credential))
    const text = await report.text()
    assert.ok(!text.includes(credential))
    assert.equal(JSON.parse(text).api_key.key_prefix, credential.slice(0, 11))
    assert.ok(tokens.includes('mt-') && !tokens.includes(gateway.managementToken))
  })

  it('nothing of it is kept: the database holds neither keys nor tokens', async () => {
    const { rows } = await sql<{ row: string }>`
      select k::text as row from api_keys k union all select t::text from management_tokens t
    `.execute(database())
    assert.ok(rows.length >= 4)
    for (const { row } of rows) for (const secret of secrets) assert.ok(!row.includes(secret))
  })
})

describe('a management token (rule 3)', () => {
  it('serves every key of its workspace', async () => {
    for (const id of [gateway.apiKeyId, restricted.id]) {
      assert.equal((await gateway.fetch(usagePath(id), { key: gateway.managementToken })).status, 200)
    }
  })

  it('is only taken as a bearer token', async () => {
    const response = await gateway.fetch(usagePath(), { key: null, headers: { 'x-api-key': gateway.managementToken } })
    await assertRefused(response, INVALID)
  })

  it('that is revoked is 401 expired_api_key', async () => {
    const { id, credential } = await createToken(gateway)
    secrets.push(credential)
    assert.equal((await gateway.fetch(usagePath(), { key: credential })).status, 200)
    await database()
      .transaction()
      .execute(transaction => revokeManagementToken(transaction, id))
    const refused = await eventually('the refusal', async () => {
      const response = await gateway.fetch(usagePath(), { key: credential })
      return response.status === 200 ? undefined : response
    })
    await assertRefused(refused, EXPIRED)
  })
})

describe('an inference key (rule 4)', () => {
  it('is taken as a bearer token, however that word is written, and as x-api-key', async () => {
    const headers = [
      { authorization: `Bearer ${gateway.apiKey}` },
      { authorization: `bearer   ${gateway.apiKey}` },
      { 'x-api-key': gateway.apiKey },
      { authorization: `Bearer ${gateway.apiKey}`, 'x-api-key': gateway.apiKey },
    ]
    for (const each of headers) {
      const init = { key: null, headers: each as Record<string, string> }
      assert.equal((await gateway.post('/v1/chat/completions', CHAT, init)).status, 200)
      assert.equal((await gateway.fetch('/v1/models', init)).status, 200)
    }
  })

  it('is not taken from anywhere else', async () => {
    const elsewhere: Record<string, string>[] = [
      { 'x-native-api-key': gateway.apiKey },
      { 'x-goog-api-key': gateway.apiKey },
      { 'api-key': gateway.apiKey },
      { cookie: `key=${gateway.apiKey}` },
      { 'proxy-authorization': `Bearer ${gateway.apiKey}` },
      { authorization: gateway.apiKey },
      { authorization: `Basic ${Buffer.from(`:${gateway.apiKey}`).toString('base64')}` },
      { authorization: `Token ${gateway.apiKey}` },
    ]
    for (const headers of elsewhere) {
      await assertRefused(await gateway.post('/v1/chat/completions', CHAT, { key: null, headers }), INVALID)
    }
  })

  it('that is missing is 401 invalid_api_key with a hint', async () => {
    for (const response of [...(await inference(null)), await gateway.fetch(usagePath(), { key: null })]) {
      const { error } = (await response.clone().json()) as { error: Record<string, unknown> }
      assert.match(await assertRefused(response, INVALID), /was sent/)
      assert.match(String(error.hint), /Authorization: Bearer/)
    }
  })

  it('that is well-formed and unknown is 401 invalid_api_key', async () => {
    for (const response of await inference(mintCredential('sk'))) await assertRefused(response, INVALID)
    await assertRefused(await gateway.fetch(usagePath(), { key: mintCredential('mt') }), INVALID)
  })

  it('that is revoked from the command line is 401 expired_api_key', async () => {
    const { id, credential } = await createKey(gateway)
    secrets.push(credential)
    assert.equal((await gateway.fetch('/v1/models', { key: credential })).status, 200)
    await commandBeside(gateway, 'keys', 'revoke', id)
    const refused = await eventually('the refusal', async () => {
      const response = await gateway.fetch('/v1/models', { key: credential })
      return response.status === 200 ? undefined : response
    })
    assert.match(await assertRefused(refused, EXPIRED), /revoked/)
    for (const response of await inference(credential)) await assertRefused(response, EXPIRED)
  })

  it('that has expired is 401 expired_api_key', async () => {
    const { credential } = await insertKey(gateway, { expiresAt: new Date('2020-01-01T00:00:00Z') })
    secrets.push(credential)
    for (const response of await inference(credential)) {
      assert.match(await assertRefused(response, EXPIRED), /2020-01-01/)
    }
  })

  it('that expires while it is in use is refused from then on', async () => {
    const expiresAt = Date.now() + 1_000
    const { credential } = await insertKey(gateway, { expiresAt: new Date(expiresAt) })
    secrets.push(credential)
    const refused = await eventually('the refusal', async () => {
      const response = await gateway.fetch('/v1/models', { key: credential })
      if (response.status === 200) assert.ok(Date.now() < expiresAt + 1_000)
      return response.status === 200 ? undefined : response
    })
    assert.ok(Date.now() >= expiresAt)
    await assertRefused(refused, EXPIRED)
  })

  it('that is switched off is 401 expired_api_key', async () => {
    const { id, credential } = await insertKey(gateway)
    secrets.push(credential)
    assert.equal((await gateway.fetch('/v1/models', { key: credential })).status, 200)
    await database()
      .transaction()
      .execute(async transaction => {
        await sql`update api_keys set status = 'inactive' where id = ${id}`.execute(transaction)
        await announceChange(transaction, 'api-key', id)
      })
    const refused = await eventually('the refusal', async () => {
      const response = await gateway.fetch('/v1/models', { key: credential })
      return response.status === 200 ? undefined : response
    })
    await assertRefused(refused, EXPIRED)
  })

  it('that is restricted is 403 model_not_allowed on another model, whole or streamed', async () => {
    const { credential: key } = restricted
    for (const body of [CHAT, { ...CHAT, stream: true }]) {
      const response = await gateway.post('/v1/chat/completions', body, { key })
      await assertRefused(response, { status: 403, type: 'access_denied', code: 'model_not_allowed' })
    }
  })
})

describe('a revocation', () => {
  /** Time from the commit until `at` refuses the key. */
  async function refusalAfterMs(at: Gateway, key: string, revokedAtMs: number): Promise<number> {
    const refused = await eventually('the refusal', async () => {
      const response = await at.fetch('/v1/models', { key })
      return response.status === 200 ? undefined : response
    })
    const elapsedMs = performance.now() - revokedAtMs
    await assertRefused(refused, EXPIRED)
    return elapsedMs
  }

  async function revoke(id: string): Promise<number> {
    await database()
      .transaction()
      .execute(transaction => revokeApiKey(transaction, id))
    return performance.now()
  }

  it('takes effect on every node within a second', async () => {
    for (let round = 0; round < 3; round++) {
      const { id, credential } = await insertKey(gateway)
      secrets.push(credential)
      for (const at of [gateway, neighbour]) {
        assert.equal((await at.fetch('/v1/models', { key: credential })).status, 200)
      }
      const revokedAtMs = await revoke(id)
      const elapsed = await Promise.all([gateway, neighbour].map(at => refusalAfterMs(at, credential, revokedAtMs)))
      for (const ms of elapsed) assert.ok(ms < 1_000, `refused after ${ms} ms`)
    }
  })

  it('takes effect soon on a node whose listening connection was lost', async () => {
    const { id, credential } = await insertKey(gateway)
    secrets.push(credential)
    assert.equal((await neighbour.fetch('/v1/models', { key: credential })).status, 200)
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ilike 'listen%'
    `.execute(database())
    const revokedAtMs = await revoke(id)
    const elapsedMs = await refusalAfterMs(neighbour, credential, revokedAtMs)
    assert.ok(elapsedMs < 2_500, `refused after ${elapsedMs} ms`)
  })
})

describe("another workspace's things (rule 5)", () => {
  it('look like things that never were', async () => {
    const [foreign, unknown] = await Promise.all(
      [gateway.apiKeyId, 'key_000000000000000000000000'].map(async id => {
        const response = await gateway.fetch(usagePath(id), { key: otherToken.credential })
        const text = await response.text()
        return { status: response.status, text: text.replace(id, 'ID') }
      }),
    )
    assert.equal(foreign?.status, 404)
    assert.deepEqual(foreign, unknown)
    assert.equal(JSON.parse(foreign?.text ?? '').error.type, 'invalid_request_error')
  })
})

it('a key in the URL is not taken (rule 6)', async () => {
  for (const pathname of [`/v1/models?key=${gateway.apiKey}`, `/v1/models?api_key=${gateway.apiKey}`]) {
    await assertRefused(await gateway.fetch(pathname, { key: null }), INVALID)
  }
  await assertRefused(
    await gateway.fetch(`${usagePath()}?key=${gateway.managementToken}&token=${gateway.managementToken}`, {
      key: null,
    }),
    INVALID,
  )
})

describe('garbage in place of a credential is 401, never more', () => {
  const good = mintCredential('sk')
  const garbage: Readonly<Record<string, string>> = {
    empty: '',
    blank: '   ',
    'the prefix alone': 'sk-',
    'the prefix of a token': 'mt-',
    'the prefix of a signing secret': 'whsec_',
    'too short': good.slice(0, -1),
    'too long': `${good}A`,
    'with a wrong checksum': good.slice(0, -1) + (good.endsWith('A') ? 'B' : 'A'),
    'in other case': good.toUpperCase(),
    'two keys': `${good}, ${good}`,
    'in quotes': `"${good}"`,
    'SQL that ends a text': "sk-' or '1'='1",
    'SQL that drops a table': "sk-'; drop table api_keys; --",
    'SQL in the shape of a key': `sk-${"'or'1'='1'--".padEnd(49, 'x')}`,
    'a backslash': 'sk-\\x00',
    'percent-encoding': 'sk-%00%27',
    'a format string': 'sk-%s%n%x',
    'a path': 'sk-../../../../etc/passwd',
    'a template': `sk-\${7*7}`,
    'a regular expression': `sk-${'(a+)+'.repeat(20)}$`,
    JSON: '{"$ne":null}',
    'the name of a prototype': '__proto__',
    undefined: 'undefined',
    'twelve kilobytes': `sk-${'a'.repeat(12_000)}`,
    'twelve kilobytes of dots': '.'.repeat(12_000),
    'bytes beyond ASCII': 'sk-\xff\xfe\xe9',
    'UTF-8': 'sk-\xc3\xa9\xf0\x9f\x98\x80',
    'half a character': 'sk-\xf0\x9f',
  }

  async function ask(head: string): Promise<number | undefined> {
    const client = await RawClient.connect(gateway.baseUrl)
    client.write(head)
    const answer = await client.answer()
    client.close()
    if (answer?.status === 401) assert.equal(JSON.parse(answer.body).error.code, 'invalid_api_key')
    return answer?.status
  }

  for (const [name, credential] of Object.entries(garbage)) {
    it(name, async () => {
      const chat = JSON.stringify(CHAT)
      const heads = [
        `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${credential}\r\n\r\n`,
        `GET /v1/models HTTP/1.1\r\nHost: x\r\nx-api-key: ${credential}\r\n\r\n`,
        `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: ${credential}\r\n\r\n`,
        `GET ${usagePath()} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${credential}\r\n\r\n`,
        `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${credential}\r\nContent-Length: ${chat.length}\r\n\r\n${chat}`,
      ]
      assert.deepEqual(
        await Promise.all(heads.map(ask)),
        heads.map(() => 401),
      )
    })
  }

  it('random bytes, and keys with one character changed', async () => {
    const randoms = Array.from({ length: 100 }, (_, i) => {
      const bytes = randomBytes(1 + (i % 60)).toString('base64url')
      return i % 2 === 0 ? bytes : `sk-${bytes}`
    })
    const changed = Array.from({ length: 49 }, (_, i) => {
      const at = 3 + i
      return gateway.apiKey.slice(0, at) + (gateway.apiKey[at] === 'x' ? 'y' : 'x') + gateway.apiKey.slice(at + 1)
    })
    for (const key of [...randoms, ...changed]) {
      await assertRefused(await gateway.fetch('/v1/models', { key }), INVALID)
    }
  })

  it('the good key still serves after all that', async () => {
    assert.equal((await gateway.post('/v1/chat/completions', CHAT)).status, 200)
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from api_keys`.execute(database())
    assert.ok((rows[0]?.count ?? 0) > 0)
  })
})

describe('credentials', () => {
  const leaks = `Incorrect API key provided: ${UPSTREAM_KEY}. Bearer ${UPSTREAM_KEY}`

  it('of the upstream are not shown to clients, even when the upstream repeats them', async () => {
    for (const status of [400, 401, 403, 422, 429, 500]) {
      upstream.script = (_request, response) => {
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ error: { message: leaks, type: 'invalid_request_error', param: 'model' } }))
      }
      for (const body of [CHAT, { ...CHAT, stream: true }]) {
        const response = await gateway.post('/v1/chat/completions', body)
        const text = await response.text()
        assert.ok(response.status >= 400)
        assert.ok(!text.includes(UPSTREAM_KEY), `${status}: ${text}`)
        for (const value of response.headers.values()) assert.ok(!value.includes(UPSTREAM_KEY))
      }
    }
    upstream.script = answerWhole()
  })

  it('of the client do not reach the upstream', async () => {
    const before = upstream.seen.length
    await gateway.post('/v1/chat/completions', CHAT, { headers: { 'x-api-key': gateway.apiKey, cookie: 'a=b' } })
    const seen = upstream.seen[before]
    assert.equal(seen?.headers.authorization, `Bearer ${UPSTREAM_KEY}`)
    assert.ok(!JSON.stringify(seen).includes(gateway.apiKey))
    assert.ok(!('cookie' in (seen?.headers ?? {})))
  })

  it('are in no log line and in no metric', async () => {
    const sent = await gateway.post('/v1/chat/completions', CHAT, { headers: { 'x-request-id': 'the-last-one' } })
    await sent.text()
    await eventually('the last log line', () =>
      gateway.lines('request.completed').find(line => line.client_request_id === 'the-last-one'),
    )
    const metrics = await (await gateway.fetch('/metrics')).text()
    assert.match(metrics, /^tollgate_requests_total\{.*\} \d+$/m)
    const logs = [gateway, neighbour].map(({ log }) => log.map(line => JSON.stringify(line)).join('\n'))
    assert.ok(logs.every(log => log.includes('request.completed')))
    for (const secret of secrets) {
      for (const text of [...logs, metrics]) assert.ok(!text.includes(secret), `${secret} was found`)
    }
    // Nor what strangers tried: a mistyped key is still nearly a key.
    for (const text of [...logs, metrics]) assert.ok(!/\b(sk|mt)-[0-9A-Za-z]{20,}/.test(text))
  })
})
