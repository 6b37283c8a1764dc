import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type CommandResult, runCommand } from '../support/command.ts'

const CHANNELS = `channels:
  - { id: openai, provider: openai, api_key: sk-x }
  - { id: local, provider: openai, base_url: "http://127.0.0.1:9/v1" }
models:
`
const PRICED = `
  - { id: mini, scene: chat, offers: [{ channel: openai, upstream_model: gpt-5-mini }] }
  - id: long
    scene: chat
    visibility: hidden
    context_length: 1000
    price: { input: "2.50", output: "15", cache_read: "0.25" }
    offers: [{ channel: openai, upstream_model: gpt-5.4 }, { channel: local }]
  - { id: typo, scene: chat, price: { input: "1", output: "1" }, offers: [{ channel: openai, upstream_model: gpt-5-minni }] }
`
const UNPRICED = `
  - { id: llama, scene: chat, offers: [{ channel: local }] }
`

describe('tollgate models, with no server running', () => {
  let folder: string

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'tollgate-models-'))
  })

  after(() => rm(folder, { recursive: true, force: true }))

  async function tollgate(config: string, ...words: string[]): Promise<CommandResult> {
    const file = path.join(folder, 'tollgate.yaml')
    await writeFile(file, config)
    return runCommand(['models', ...words], { TOLLGATE_CONFIG: file, TOLLGATE_DATA: path.join(folder, 'data') })
  }

  it('lists every model and offer with its price and where that comes from', async () => {
    const { code, output } = await tollgate(CHANNELS + PRICED, 'list')
    assert.equal(code, 0)
    assert.match(
      output,
      /^mini +openai +gpt-5-mini +book: openai\/gpt-5-mini +input 0\.25, cache_read 0\.025, output 2 +pv_/m,
    )
    assert.match(output, /^long +local +long +model +input 2\.5, cache_read 0\.25, output 15 +pv_/m)
  })

  it('says where a price differs from the book, and which models the book does not know', async () => {
    const { code, output } = await tollgate(CHANNELS + PRICED, 'check')
    assert.equal(code, 0)
    assert.match(output, /^book +mini +openai +price of openai\/gpt-5-mini in @pydantic\/genai-prices/m)
    assert.match(output, /^note +mini +openai +web searches of the provider are not charged$/m)
    assert.match(output, /^differs +long +openai +above 271999 tokens input is 2\.5, in the book 5$/m)
    assert.match(output, /^differs +long +openai +context_length is 1000, in the book 1050000$/m)
    assert.doesNotMatch(output, /long +openai +input is/)
    assert.match(output, /^ok +long +local +price of the model$/m)
    assert.match(output, /^unknown +typo +openai +the price book has no "gpt-5-minni" of openai \(is it gpt-5-mini/m)
  })

  it('ends with 1 when a model has no price, and shows the others all the same', async () => {
    const { code, output } = await tollgate(CHANNELS + PRICED + UNPRICED, 'check')
    assert.equal(code, 1)
    assert.match(output, /^fail +llama +local +model "llama" has no price at channel "local": .*tollgate\.yaml:\d+\)$/m)
    assert.match(output, /^book +mini/m)
    const list = await tollgate(CHANNELS + PRICED + UNPRICED, 'list')
    assert.equal(list.code, 1)
    assert.match(list.errors, /tollgate\.yaml:\d+: model "llama" has no price/)
  })

  it('says all of it to programs too', async () => {
    const listed = JSON.parse((await tollgate(CHANNELS + PRICED, 'list', '--json')).output)
    assert.deepEqual(
      { ...listed[0], price_version: undefined, book: listed[0].book.entry },
      {
        model: 'mini',
        scene: 'chat',
        channel: 'openai',
        upstream_model: 'gpt-5-mini',
        price_from: 'book',
        book: 'openai/gpt-5-mini',
        price_version: undefined,
        price: { per_tokens: 1_000_000, input: '0.25', cache_read: '0.025', output: '2' },
      },
    )
    const checked = JSON.parse((await tollgate(CHANNELS + PRICED + UNPRICED, 'check', '--json')).output)
    assert.deepEqual(checked.problems[0].offer, { model: 'llama', channel: 'local' })
    assert.equal(checked.offers[0].remarks[0].kind, 'book')
  })
})
