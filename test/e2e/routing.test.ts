import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { answerWhole, ScriptedUpstream } from '../support/upstream.ts'

/** Who is asked for what (docs/routing.md). */

let upstream: ScriptedUpstream
let gateway: Gateway

const PRICE = 'price: { input: "1", output: "2" }'

function config(): string {
  const keyed = (id: string, ...keys: string[]) =>
    `  - { id: ${id}, provider: openai, base_url: "${upstream.url}/v1", api_key: [${keys.join(', ')}] }`
  return `
channels:
${keyed('north', 'k-north-1', 'k-north-2')}
${keyed('south', 'k-south-1', 'k-south-2')}
${keyed('narrow', '{ key: k-narrow, concurrency: 1 }')}
${keyed('refused', 'k-refused')}
models:
  - id: shared
    scene: chat
    ${PRICE}
    offers: [{ channel: north, weight: 1 }, { channel: south, weight: 1 }]
  - id: thinker
    scene: chat
    ${PRICE}
    capabilities: [reasoning]
    offers: [{ channel: north, weight: 1 }, { channel: south, weight: 1 }]
  - { id: narrow-then-north, scene: chat, ${PRICE}, offers: [{ channel: narrow }, { channel: north }] }
  - { id: public-name, scene: chat, ${PRICE}, offers: [{ channel: north, upstream_model: inner-name-7 }] }
  - { id: refused, scene: chat, ${PRICE}, offers: [{ channel: refused }] }
`
}

before(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await Gateway.start({ config: config() })
})

after(async () => {
  await gateway?.stop()
  await upstream?.stop()
})

interface Turn {
  readonly role: string
  readonly content: string
}

/** @returns the key that the upstream was asked with */
async function keyFor(model: string, messages: readonly Turn[]): Promise<string> {
  const response = await gateway.post('/v1/chat/completions', { model, messages })
  assert.equal(response.status, 200)
  await response.arrayBuffer()
  return upstream.seen.at(-1)?.headers.authorization ?? ''
}

const RULES = { role: 'system', content: 'A rule that is repeated. '.repeat(300) }

function conversation(topic: string, turns: number, rules: readonly Turn[] = [RULES]): Turn[] {
  const said = Array.from({ length: turns }, (_, i) => [
    { role: 'assistant', content: `Answer ${i}` },
    { role: 'user', content: `Question ${i}` },
  ])
  return [...rules, { role: 'user', content: topic }, ...said.flat()]
}

async function keysOf(model: string, topics: number, rules?: readonly Turn[]): Promise<Set<string>[]> {
  const found: Set<string>[] = []
  for (let topic = 0; topic < topics; topic++) {
    const keys = new Set<string>()
    for (let turns = 0; turns < 3; turns++) keys.add(await keyFor(model, conversation(`Topic ${topic}`, turns, rules)))
    found.push(keys)
  }
  return found
}

describe('a conversation', () => {
  it('stays with one key of one channel, and others go elsewhere', async () => {
    const keys = await keysOf('shared', 48)
    assert.ok(keys.every(({ size }) => size === 1))
    assert.equal(new Set(keys.flatMap(each => [...each])).size, 4)
  })

  it('that is short is shared among all, unless its model thinks', async () => {
    const short = await keysOf('shared', 12, [])
    const thinking = await keysOf('thinker', 4, [])
    assert.ok(short.some(({ size }) => size > 1))
    assert.ok(thinking.every(({ size }) => size === 1))
  })
})

describe('a key with a limit of its own', () => {
  it('gets no more than it takes at a time, and the next channel gets the rest', async () => {
    const held = Promise.withResolvers<void>()
    upstream.script = async (seen, response, socket) => {
      if (seen.headers.authorization === 'Bearer k-narrow') await held.promise
      await answerWhole()(seen, response, socket)
    }
    const before = upstream.seen.length
    const ask = () =>
      gateway.post('/v1/chat/completions', { model: 'narrow-then-north', messages: conversation('x', 0) })
    const first = ask()
    await eventually('the narrow key is asked', () => (upstream.seen.length > before ? true : undefined))
    const others = await Promise.all(Array.from({ length: 10 }, ask))
    assert.ok(others.every(({ status }) => status === 200))
    const asked = upstream.seen.slice(before).filter(({ headers }) => headers.authorization === 'Bearer k-narrow')
    assert.equal(asked.length, 1)
    held.resolve()
    assert.equal((await first).status, 200)
    upstream.script = answerWhole()
  })
})

describe('what an upstream says of a request', () => {
  it('names the model as the client knows it, and not who serves it', async () => {
    upstream.script = (_request, response) => {
      const message =
        'OpenAI: `inner-name-7` of org-Ab12Cd34 does not take `bananas`, see https://platform.openai.com/x'
      response.writeHead(400, {
        'content-type': 'application/json',
        'openai-organization': 'my-corp',
        'x-request-id': 'req_of_theirs',
      })
      response.end(JSON.stringify({ error: { message, type: 'invalid_request_error', param: 'bananas', code: null } }))
    }
    for (const stream of [false, true]) {
      const body = { model: 'public-name', stream, messages: conversation('x', 0) }
      const response = await gateway.post('/v1/chat/completions', body)
      assert.equal(response.status, 400)
      const { error } = (await response.json()) as { error: Record<string, unknown> }
      assert.equal(error.message, 'the provider: `public-name` of [account] does not take `bananas`, see [link]')
      assert.equal(error.param, 'bananas')
      assert.equal(response.headers.get('openai-organization'), null)
      assert.match(response.headers.get('x-request-id') ?? '', /^req_\w{24}$/)
    }
    upstream.script = answerWhole()
  })
})

describe('a key that was refused', () => {
  it('is good again when the operator has the configuration read anew', async () => {
    const ask = () =>
      gateway.post('/v1/chat/completions', { model: 'refused', messages: [{ role: 'user', content: 'Hi' }] })
    upstream.script = (_request, response) => void response.writeHead(401).end()
    assert.equal((await ask()).status, 502)
    upstream.script = answerWhole()
    const out = await ask()
    assert.equal(out.status, 503)
    assert.ok(Number(out.headers.get('retry-after')) > 30)
    gateway.process.kill('SIGHUP')
    await eventually('it is asked again', async () => ((await ask()).status === 200 ? true : undefined))
    const metrics = await (await gateway.fetch('/metrics')).text()
    assert.match(metrics, /^tollgate_credentials_disabled\{channel="refused",credential="1"\} 0$/m)
  })
})
