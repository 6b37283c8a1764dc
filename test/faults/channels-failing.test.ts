import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, before, describe, it } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { answerWhole, chunk, type Script, ScriptedUpstream, UNHURRIED } from '../support/upstream.ts'

/** What the gateway learns from upstreams that fail (docs/routing.md), over real sockets. */

const CUTS = 1_000

let first: ScriptedUpstream
let second: ScriptedUpstream
let third: ScriptedUpstream
/** Takes connections and never says a word, not even a TLS hello: who connects gets nowhere. */
let hole: net.Server
let holeConnections = 0
let gateway: Gateway
/** Like the other, but nothing that fails is left alone. */
let relentless: Gateway

before(async () => {
  ;[first, second, third] = await Promise.all([
    ScriptedUpstream.start(),
    ScriptedUpstream.start(),
    ScriptedUpstream.start(),
  ])
  hole = net.createServer(() => holeConnections++).listen(0, '127.0.0.1')
  await once(hole, 'listening')
  const { port } = hole.address() as net.AddressInfo
  // Each model has its own name at the upstream: what is learned of one does not touch the next test.
  const model = (id: string, ...channels: string[]) => {
    const offers = channels.map(channel => `{ channel: ${channel}, weight: 1, upstream_model: ${id} }`)
    return `  - { id: ${id}, scene: chat, price: { input: "1", output: "2" }, offers: [${offers.join(', ')}] }`
  }
  const config = `
channels:
  - { id: first, provider: openai, base_url: "${first.url}/v1", api_key: k-first }
  - { id: second, provider: openai, base_url: "${second.url}/v1", api_key: k-second }
  - { id: third, provider: openai, base_url: "${third.url}/v1", api_key: k-third }
  - { id: unreachable, provider: openai, base_url: "https://127.0.0.1:${port}/v1", timeout: { connect: 200ms } }
  - { id: silent, provider: openai, base_url: "http://127.0.0.1:${port}/v1", timeout: { first_byte: 300ms } }
  - { id: keyed, provider: openai, base_url: "${first.url}/v1", api_key: [k-bad, k-good] }
models:
${model('one-unreachable', 'first', 'second', 'unreachable')}
${model('one-silent', 'first', 'second', 'silent')}
${model('outage', 'first', 'second', 'third')}
${model('recovering', 'first', 'second')}
${model('cut', 'first', 'second', 'third')}
${model('limited', 'first')}
${model('limited-twice', 'first', 'second')}
${model('keyed', 'keyed')}
${model('refusing', 'first')}
`
  ;[gateway, relentless] = await Promise.all([
    Gateway.start({ config: `${UNHURRIED}\nrouting: { retry_uncertain: true, sticky: false }\n${config}` }),
    Gateway.start({
      config: `${UNHURRIED}\nrouting: { retry_uncertain: true, retry_share: 1, ejection: false }\n${config}`,
    }),
  ])
})

after(async () => {
  await Promise.all([gateway?.stop(), relentless?.stop()])
  await Promise.all([first, second, third].map(each => each?.stop()))
  hole?.close()
})

function ask(model: string, fields: Record<string, unknown> = {}, key = gateway.apiKey): Promise<Response> {
  return gateway.post(
    '/v1/chat/completions',
    { model, messages: [{ role: 'user', content: 'Hi' }], ...fields },
    { key },
  )
}

async function keyWithRate(requestsPerMinute: number): Promise<string> {
  const fields = { name: 'hurried', requests_per_minute: requestsPerMinute }
  const response = await gateway.post('/v1/management/api-keys', fields, { key: gateway.managementToken })
  return ((await response.json()) as { key: string }).key
}

/** So many requests, so many at a time. @returns statuses, in the order of their ends */
async function flood(count: number, atATime: number, send: () => Promise<Response>): Promise<number[]> {
  const statuses: number[] = []
  let left = count
  const one = async () => {
    while (left-- > 0) {
      const response = await send()
      await response.arrayBuffer()
      statuses.push(response.status)
    }
  }
  await Promise.all(Array.from({ length: atATime }, one))
  return statuses
}

function asked(model: string): number {
  return [first, second, third].flatMap(({ seen }) => seen).filter(({ body }) => body.model === model).length
}

const failing =
  (status: number, headers: Record<string, string> = {}): Script =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ error: { message: 'secret detail', type: 'server_error', code: null } }))
  }

async function faultOf(response: Response): Promise<Record<string, unknown>> {
  return ((await response.json()) as { error: Record<string, unknown> }).error
}

describe('one of three channels in a hole', () => {
  for (const model of ['one-unreachable', 'one-silent']) {
    it(`costs no answer, and is soon not waited for any more: ${model}`, async () => {
      for (const each of [first, second]) each.script = answerWhole()
      await flood(30, 10, () => ask(model))
      const before = holeConnections
      const statuses = await flood(600, 10, () => ask(model))
      assert.deepEqual([...new Set(statuses)], [200])
      // It rests for five seconds; a slow machine may take longer for the flood and probe it again.
      assert.ok(holeConnections - before <= 2, `${holeConnections - before} waited`)
    })
  }
})

describe('an outage of all channels', () => {
  it('is not made worse by retries, and ends in answers without anyone being asked', async () => {
    for (const each of [first, second, third]) each.script = failing(500)
    const statuses = await flood(300, 10, () => ask('outage'))
    assert.ok(statuses.every(status => status >= 500))
    assert.ok(asked('outage') <= 1.2 * 300, `${asked('outage')} attempts for 300 requests`)
    const before = asked('outage')
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask('outage')))
    // The last resort is tried once a second at most.
    assert.ok(asked('outage') - before <= 2, `${asked('outage') - before} attempts`)
    const refused = answers.filter(({ status }) => status === 503)
    assert.ok(refused.length >= 48)
    const fault = await faultOf(refused[0] as Response)
    assert.equal(fault.code, 'all_channels_failed')
    assert.equal(fault.retryable, true)
    assert.ok(Number(fault.retry_after) >= 1 && Number(fault.retry_after) <= 30)
    assert.equal(refused[0]?.headers.get('retry-after'), String(fault.retry_after))
    assert.deepEqual(
      (fault.alternatives as { id: string; status: string }[]).map(({ status }) => status),
      Array(5).fill('available'),
    )
    const metrics = await (await gateway.fetch('/metrics')).text()
    assert.match(metrics, /^tollgate_breaker_open\{channel="first",model="outage"\} 1$/m)
    assert.match(metrics, /^tollgate_attempts_total\{channel="first",outcome="down"\} \d+$/m)
    assert.equal((await gateway.fetch('/readyz')).status, 200)
  })

  it('is over when a channel is well again', async () => {
    for (const each of [first, second]) each.script = failing(500)
    await flood(30, 5, () => ask('recovering'))
    for (const each of [first, second]) each.script = answerWhole()
    const answered = (upstream: ScriptedUpstream) =>
      upstream.seen.filter(({ body }) => body.model === 'recovering').length
    await eventually('both channels serve again', async () => {
      const before = [answered(first), answered(second)] as const
      await flood(20, 1, () => ask('recovering'))
      return answered(first) > before[0] && answered(second) > before[1] ? true : undefined
    })
  })
})

describe('a stream that breaks off after its first word', () => {
  const cut: Script = (_request, response, socket) => {
    response.setHeader('content-type', 'text/event-stream')
    response.write(chunk({ role: 'assistant', content: '' }) + chunk({ content: 'Hello' }))
    setImmediate(() => socket.resetAndDestroy())
  }

  it('is never begun again, however often it happens', async () => {
    for (const each of [first, second, third]) each.script = cut
    const statuses = await flood(CUTS, 20, async () => {
      const body = { model: 'cut', stream: true, messages: [{ role: 'user', content: 'Hi' }] }
      const response = await relentless.post('/v1/chat/completions', body)
      const text = await response.clone().text()
      assert.equal(text.split('Hello').length - 1, 1)
      assert.ok(text.includes('"error"') && !text.includes('[DONE]'))
      return response
    })
    assert.deepEqual([...new Set(statuses)], [200])
    assert.equal(asked('cut'), CUTS)
  })

  it('counts as a failure of its channel', async () => {
    for (const each of [first, second, third]) each.script = cut
    const before = asked('cut')
    await flood(100, 1, () => ask('cut', { stream: true }))
    assert.ok(asked('cut') - before <= 40, `${asked('cut') - before} were asked`)
  })
})

describe('a channel that says when to come back', () => {
  it('is not asked before, and is asked again then', async () => {
    first.script = failing(429, { 'retry-after': '2' })
    assert.equal((await ask('limited')).status, 503)
    const limitedAtMs = performance.now()
    first.script = answerWhole()
    const before = asked('limited')
    await eventually('it answers', async () => {
      const response = await ask('limited')
      if (response.status === 200) return true
      assert.equal(asked('limited'), before)
      assert.ok(Number((await faultOf(response)).retry_after) <= 2)
      return undefined
    })
    // Timers may run a millisecond early.
    assert.ok(performance.now() - limitedAtMs >= 1_990)
    assert.equal(asked('limited'), before + 1)
  })

  it('costs nobody anything where there is another', async () => {
    first.script = failing(429, { 'retry-after': '60' })
    second.script = answerWhole()
    assert.deepEqual([...new Set(await flood(50, 5, () => ask('limited-twice')))], [200])
    const toFirst = first.seen.filter(({ body }) => body.model === 'limited-twice').length
    assert.ok(toFirst <= 5, 'only those that were under way together')
  })
})

describe('a key that is refused', () => {
  it('is left alone, its channel is not, and the operator hears of it', async () => {
    first.script = (request, response, socket) => {
      const isBad = request.headers.authorization === 'Bearer k-bad'
      return (isBad ? failing(401) : answerWhole())(request, response, socket)
    }
    assert.deepEqual([...new Set(await flood(50, 1, () => ask('keyed')))], [200])
    const bad = first.seen.filter(({ headers }) => headers.authorization === 'Bearer k-bad')
    assert.equal(bad.length, 1)
    const [line] = gateway.lines('credential.disabled')
    assert.deepEqual([line?.level, line?.channel, line?.place], ['error', 'keyed', '1'])
    const metrics = await (await gateway.fetch('/metrics')).text()
    assert.match(metrics, /^tollgate_credentials_disabled\{channel="keyed",credential="1"\} 1$/m)
    assert.match(metrics, /^tollgate_credentials_disabled\{channel="keyed",credential="2"\} 0$/m)
  })
})

describe("the gateway's own refusals", () => {
  it('and mistakes of callers say nothing of a channel', async () => {
    first.script = (_request, response) => {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message: 'No bananas.', type: 'invalid_request_error' } }))
    }
    const tooMuch = { max_tokens: 100_000_000 }
    assert.deepEqual([...new Set(await flood(20, 5, () => ask('refusing')))], [400])
    assert.deepEqual([...new Set(await flood(20, 5, () => ask('refusing', tooMuch)))], [402])
    const hurried = await keyWithRate(1)
    assert.deepEqual((await flood(3, 1, () => ask('refusing', {}, hurried))).sort(), [400, 429, 429])
    const leaving = () => {
      const abort = new AbortController()
      const response = gateway.post(
        '/v1/chat/completions',
        { model: 'refusing', messages: [{ role: 'user', content: 'Hi' }] },
        { signal: abort.signal },
      )
      return { abort, response }
    }
    first.script = () => {}
    for (let i = 0; i < 10; i++) {
      const before = asked('refusing')
      const { abort, response } = leaving()
      await eventually('the upstream is asked', () => (asked('refusing') > before ? true : undefined))
      abort.abort()
      await assert.rejects(response)
    }
    first.script = answerWhole()
    assert.equal((await ask('refusing')).status, 200)
  })
})
