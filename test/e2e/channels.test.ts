import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { answerWhole, completion, type Script, ScriptedUpstream } from '../support/upstream.ts'

const KEY = 'key-of-ours-that-looks-like-none'

/** Serves chat with a tool and embeddings; refuses one model's key and does not know another. */
const answer: Script = (request, response, socket) => {
  const { model, tools, input } = request.body
  const refuse = (status: number, message: string) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }))
  if (model === 'refused') return void refuse(401, `Incorrect key ${KEY} for this account`)
  if (model === 'unknown') return void refuse(404, 'The model `unknown` does not exist')
  if (input) {
    const data = [{ object: 'embedding', index: 0, embedding: [0.5] }]
    return void response.end(
      JSON.stringify({ object: 'list', data, model, usage: { prompt_tokens: 3, total_tokens: 3 } }),
    )
  }
  if (tools) {
    const call = { id: 'call_1', type: 'function', function: { name: 'report_ready', arguments: '{"ready":true}' } }
    const message = { role: 'assistant', content: null, tool_calls: [call] }
    return void response.end(
      JSON.stringify(completion({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })),
    )
  }
  return answerWhole()(request, response, socket)
}

const model = (id: string, channel: string, more = '') => `
  - { id: ${id}, scene: chat, max_output_tokens: 100, price: { input: "1", output: "2" }, offers: [{ channel: ${channel} }]${more} }`

describe('tollgate channels', () => {
  let upstream: ScriptedUpstream
  let folder: string

  before(async () => {
    upstream = await ScriptedUpstream.start(answer)
    folder = await mkdtemp(path.join(tmpdir(), 'tollgate-channels-'))
    const channel = (id: string, url: string) => `
  - { id: ${id}, provider: openai, base_url: "${url}", api_key: ${KEY}, timeout: { connect: 2s } }`
    const secure = upstream.url.replace('http:', 'https:')
    await writeFile(
      path.join(folder, 'tollgate.yaml'),
      `channels:${channel('good', `${upstream.url}/v1`)}${channel('tls', secure)}${channel('closed', 'http://127.0.0.1:1')}
  - { id: machine, provider: vertex, project: acme, service_account: { metadata_url: "http://127.0.0.1:1" } }
models:${model('able', 'good', ', capabilities: [tools]')}${model('refused', 'good')}${model('unknown', 'good')}${model('a', 'tls')}${model('b', 'closed')}${model('c', 'machine')}
  - { id: vector, scene: embedding, price: { input: "1" }, offers: [{ channel: good }] }
`,
    )
  })

  after(async () => {
    await upstream.stop()
    await rm(folder, { recursive: true })
  })

  const tollgate = (...args: string[]) => runCommand(['channels', ...args], { TOLLGATE_DATA: folder }, { cwd: folder })

  it('lists what is declared, and no key', async () => {
    const { code, output } = await tollgate('list')
    assert.equal(code, 0)
    assert.match(output, /good\s+openai\s+http:\/\/127\.0\.0\.1:\d+\/v1\s+1\s+4\n/)
    assert.match(output, /machine\s+vertex\s+https:\/\/aiplatform\.googleapis\.com\s+0\s+1\n/)
    assert.ok(!output.includes(KEY))
  })

  it('asks one model of each kind a channel, says before what it may cost, and what each answer cost', async () => {
    const { code, output, errors } = await tollgate('test', 'good')
    assert.equal(code, 0, output)
    const [, atMost] = /^4 questions, for (0\.00\d+) USD at most .* metered to no tenant/.exec(errors) ?? []
    const costs = [...output.matchAll(/\s+ok\s+\d+ ms\s+\d+\s+(\S+)/g)].map(([, cost]) => Number(cost))
    assert.equal(costs.length, 4)
    assert.ok(costs.reduce((sum, cost) => sum + cost) <= Number(atMost), errors)
    for (const family of ['chat', 'chat stream', 'tool call']) {
      assert.match(output, new RegExp(`good\\s+able\\s+${family}\\s+ok\\s+\\d+ ms\\s+15\\s+0\\.00002`))
    }
    assert.match(output, /good\s+vector\s+embeddings\s+ok\s+\d+ ms\s+3\s+0\.000003/)
  })

  it('says what is wrong and what to do, fails, and shows no key even where the provider does', async () => {
    const { code, output } = await tollgate('test', '--all', '--json')
    assert.equal(code, 1)
    assert.ok(!output.includes(KEY))
    const { findings } = JSON.parse(output) as { findings: Record<string, string>[] }
    const told = (name: string) => findings.find(finding => finding.model === name && finding.family === 'chat')
    assert.match(
      told('refused')?.problem ?? '',
      /^the key is refused \(401: Incorrect key \[redacted\] for this account\)$/,
    )
    assert.equal(told('refused')?.fix, 'check api_key, and what it may use')
    assert.match(told('unknown')?.problem ?? '', /^the model or the path is unknown there \(404/)
    assert.match(told('a')?.problem ?? '', /TLS/)
    assert.match(told('b')?.problem ?? '', /nobody listens there \(ECONNREFUSED\)/)
    assert.match(told('c')?.problem ?? '', /^no credential: .*ECONNREFUSED/)
    assert.equal(told('able')?.status, 'ok')
  })

  it('names a channel or a model that there is not', async () => {
    const channel = await tollgate('test', 'nowhere')
    assert.equal(channel.code, 1)
    assert.match(channel.errors, /no channel "nowhere"; see: tollgate channels list/)
    const missing = await tollgate('test', 'closed', '--model', 'able')
    assert.match(missing.errors, /"able" is not offered by channel "closed"/)
  })
})
