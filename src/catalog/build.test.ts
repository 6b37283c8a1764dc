import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { buildCatalog, parseDurationMs } from './build.ts'
import type { ChannelConfig, ModelConfig } from './schema.ts'

const PROVIDERS = new Map([
  ['openai', { baseUrl: 'https://api.openai.com/v1' }],
  ['other', { baseUrl: 'https://api.example.com/v1' }],
])
const CHANNEL: ChannelConfig = { id: 'main', provider: 'openai' }
const MODEL: ModelConfig = {
  id: 'gpt-5',
  scene: 'chat',
  price: { input: '1', output: '2' },
  offers: [{ channel: 'main' }],
}

function build(channels: ChannelConfig[], models: ModelConfig[]) {
  return buildCatalog({ channels, models }, PROVIDERS)
}

function problemsOf(model: Partial<ModelConfig>): string[] {
  return build([CHANNEL], [{ ...MODEL, ...model }]).problems.map(({ path, message }) => `${path.join('.')}: ${message}`)
}

describe('buildCatalog', () => {
  it('fills in what a channel and a model do not say', () => {
    const { catalog, problems } = build([CHANNEL], [MODEL])
    assert.deepEqual(problems, [])
    const channel = catalog.channels.get('main')
    assert.deepEqual(channel, {
      id: 'main',
      name: 'main',
      provider: 'openai',
      baseUrl: undefined,
      credentials: [{ id: '1', key: undefined, weight: 1, requestsPerMinute: undefined, concurrency: undefined }],
      headers: {},
      formats: undefined,
      tier: 'official',
      timeouts: { connectMs: 5_000, firstByteMs: 120_000, idleMs: 120_000 },
      quirks: {
        streamOptions: undefined,
        encryptedReasoning: undefined,
        reasoningBudget: undefined,
        sampling: undefined,
        functionIds: undefined,
        thinkingLevels: undefined,
        placeholderSignatures: undefined,
        jsonSchemas: undefined,
        customTools: undefined,
        shortToolIds: undefined,
        fields: undefined,
        messageFields: undefined,
        roles: undefined,
        translationOptions: undefined,
      },
      settings: {},
    })
    const model = catalog.models.get('gpt-5')
    assert.deepEqual(
      { ...model, offers: model?.offers.map(({ upstreamModel }) => upstreamModel) },
      {
        id: 'gpt-5',
        logicalModel: 'gpt-5',
        vendor: undefined,
        name: undefined,
        description: undefined,
        createdAt: 0,
        scene: 'chat',
        recommendedFor: [],
        capabilities: [],
        tags: [],
        limits: { contextLength: undefined, maxOutputTokens: undefined },
        offers: ['gpt-5'],
      },
    )
    assert.equal(model?.offers[0]?.channel, channel)
  })

  it('takes what they do say', () => {
    const { catalog } = build(
      [
        {
          ...CHANNEL,
          name: 'Main',
          base_url: 'https://example.com/v1',
          api_key: ['a', { key: 'b', weight: 3, requests_per_minute: 60, concurrency: 4 }],
          tier: 'verified',
          timeout: { connect: '500ms', first_byte: '5s', idle: '2m' },
          formats: ['responses'],
          quirks: {
            stream_options: false,
            encrypted_reasoning: false,
            reasoning_budget: true,
            sampling: false,
            function_ids: false,
            thinking_levels: false,
            placeholder_signatures: false,
            json_schemas: false,
            custom_tools: false,
            short_tool_ids: true,
            fields: { seed: 'random_seed', store: null },
            message_fields: { name: null },
            roles: { developer: 'system' },
            translation_options: true,
          },
          headers: { 'X-Title': 'Acme' },
        },
      ],
      [{ ...MODEL, logical_model: 'gpt', released: '2025-08-07', context_length: 400_000, vendor: 'openai' }],
    )
    const channel = catalog.channels.get('main')
    assert.deepEqual(channel?.credentials, [
      { id: '1', key: 'a', weight: 1, requestsPerMinute: undefined, concurrency: undefined },
      { id: '2', key: 'b', weight: 3, requestsPerMinute: 60, concurrency: 4 },
    ])
    assert.deepEqual(channel?.timeouts, { connectMs: 500, firstByteMs: 5_000, idleMs: 120_000 })
    assert.deepEqual(channel?.formats, ['responses'])
    assert.deepEqual(channel?.quirks, {
      streamOptions: false,
      encryptedReasoning: false,
      reasoningBudget: true,
      sampling: false,
      functionIds: false,
      thinkingLevels: false,
      placeholderSignatures: false,
      jsonSchemas: false,
      customTools: false,
      shortToolIds: true,
      fields: { seed: 'random_seed', store: null },
      messageFields: { name: null },
      roles: { developer: 'system' },
      translationOptions: true,
    })
    const keysOf = (api_key?: string) =>
      build([{ ...CHANNEL, ...(api_key && { api_key }) }], [])
        .catalog.channels.get('main')
        ?.credentials.map(({ key }) => key)
    assert.deepEqual([keysOf('a'), keysOf()], [['a'], [undefined]])
    assert.deepEqual(channel?.headers, { 'x-title': 'Acme' })
    const model = catalog.models.get('gpt-5')
    assert.deepEqual([model?.logicalModel, model?.createdAt], ['gpt', Date.UTC(2025, 7, 7) / 1000])
  })

  it('gives an offer what its model can do, unless it says so itself', () => {
    const offers = [
      { channel: 'main', weight: 3 },
      { channel: 'main', capabilities: ['tools'], context_length: 8 },
    ]
    const model = { ...MODEL, capabilities: ['tools', 'vision'], context_length: 100, offers }
    const [shared, own] = build([CHANNEL], [model]).catalog.models.get('gpt-5')?.offers ?? []
    assert.deepEqual(
      [shared?.weight, shared?.contextLength, [...(shared?.capabilities ?? [])]],
      [3, 100, ['tools', 'vision']],
    )
    assert.deepEqual([own?.weight, own?.contextLength, [...(own?.capabilities ?? [])]], [undefined, 8, ['tools']])
    const [silent] = build([CHANNEL], [{ ...MODEL, capabilities: [] }]).catalog.models.get('gpt-5')?.offers ?? []
    assert.equal(silent?.capabilities, undefined)
  })

  it("prefers an offer's own price to the model's", () => {
    const offers = [{ channel: 'main', price: { input: '3', output: '4' }, upstream_model: 'x' }, { channel: 'main' }]
    const [own, shared] = build([CHANNEL], [{ ...MODEL, offers }]).catalog.models.get('gpt-5')?.offers ?? []
    assert.deepEqual([own?.upstreamModel, shared?.upstreamModel], ['x', 'gpt-5'])
    assert.deepEqual([own?.price.rates.input, shared?.price.rates.input], [300_000_000_000_000n, 100_000_000_000_000n])
  })

  it('shows only public models, and checks the others all the same', () => {
    const hidden: ModelConfig = { ...MODEL, id: 'hidden', visibility: 'hidden' }
    const deferred: ModelConfig = { ...MODEL, id: 'deferred', visibility: 'deferred', price: {} }
    const { catalog, problems } = build([CHANNEL], [MODEL, hidden, deferred])
    assert.deepEqual([...catalog.models.keys()], ['gpt-5'])
    assert.deepEqual(
      problems.map(({ path }) => path),
      [['models', 2, 'offers', 0]],
    )
  })

  it('refuses a model without a price, and one whose price leaves something open', () => {
    assert.match(
      problemsOf({ id: 'gpt-5-turbo', price: undefined as never })[0] ?? '',
      /^models\.0\.offers\.0: model "gpt-5-turbo" has no price at channel "main": .* add e\.g\. price: \{/,
    )
    assert.match(problemsOf({ price: { input: '1' } })[0] ?? '', /lacks output; write "0"/)
    assert.match(problemsOf({ price: {} })[0] ?? '', /lacks input and output/)
    assert.deepEqual(problemsOf({ price: { request: '0.01' } }), [])
    assert.deepEqual(problemsOf({ scene: 'embedding', price: { input: '0' } }), [])
  })

  it('takes from the price book what nobody stated, for the model that the upstream is asked for', () => {
    const offers = [{ channel: 'main', upstream_model: 'gpt-5-mini-2025-08-07' }]
    const { catalog, problems } = build([CHANNEL], [{ id: 'small', scene: 'chat', offers }])
    assert.deepEqual(problems, [])
    const [offer] = catalog.models.get('small')?.offers ?? []
    assert.deepEqual(
      [offer?.priceOrigin, offer?.price.book?.entry, offer?.price.rates.output],
      ['book', 'openai/gpt-5-mini', 200_000_000_000_000n],
    )
  })

  it('takes the entry of the price book that a price names', () => {
    const { catalog, problems } = build([CHANNEL], [{ ...MODEL, price: { book: 'anthropic/claude-haiku-4-5' } }])
    assert.deepEqual(problems, [])
    assert.equal(catalog.models.get('gpt-5')?.offers[0]?.price.rates.cache_write_1h, 200_000_000_000_000n)
    assert.match(problemsOf({ price: { book: 'openai/gpt-5-miny' } })[0] ?? '', /is it "gpt-5-mini"/)
    assert.match(problemsOf({ price: { book: 'openai/gpt-5', input: '1' } })[0] ?? '', /cannot also have input/)
  })

  it('refuses tiers that are out of order, or leave open what a long request costs', () => {
    const short = { input: '1', output: '2', cache_read: '0.1' }
    const problems = (...tiers: NonNullable<ModelConfig['price']>['tiers'][]) =>
      tiers.map(each => problemsOf({ price: { ...short, tiers: each as never } })[0] ?? '')
    const [unordered, lacking, adding] = problems(
      [
        { above: 300_000, ...short },
        { above: 200_000, ...short },
      ],
      [{ above: 200_000, input: '2', output: '4' }],
      [{ above: 200_000, ...short, cache_write_5m: '1' }],
    )
    assert.match(unordered ?? '', /from shorter to longer/)
    assert.match(lacking ?? '', /tier above 200000 of model "gpt-5" lacks cache_read; what costs the same/)
    assert.match(adding ?? '', /has cache_write_5m, which the price before the tiers lacks/)
  })

  it('refuses to charge by what nothing counts, and half a price by the token', () => {
    assert.match(
      problemsOf({ price: { input: '1', output: '1', second: '1' } })[0] ?? '',
      /cannot be charged by the second/,
    )
    assert.match(problemsOf({ price: { input: '1', request: '1' } })[0] ?? '', /lacks output/)
    assert.deepEqual(problemsOf({ scene: 'audio', price: { second: '0.0001' } }), [])
  })

  it('refuses a price that cannot be exact', () => {
    assert.match(
      problemsOf({ price: { input: '0.0000000000001', output: '1' } })[0] ?? '',
      /cannot be exact.*12 digits/,
    )
  })

  it('reports everything that is wrong at once, with the place', () => {
    const { problems } = build(
      [CHANNEL, CHANNEL, { id: 'odd', provider: 'nobody' }],
      [MODEL, MODEL, { ...MODEL, id: 'lost', offers: [{ channel: 'main' }, { channel: 'elsewhere' }] }],
    )
    assert.deepEqual(
      problems.map(({ path, message }) => [path.join('.'), message]),
      [
        ['channels.1.id', 'channel "main" is declared twice'],
        ['channels.2.provider', 'there is no provider "nobody"; known: openai, other'],
        ['models.1.id', 'model "gpt-5" is declared twice'],
        ['models.2.offers.1.channel', 'offer names channel "elsewhere", which is not declared'],
      ],
    )
  })

  it('refuses a release date that is no day', () => {
    for (const released of ['2025-13-01', '2025-02-30', '0000-00-00']) {
      assert.match(problemsOf({ released })[0] ?? '', /^models\.0\.released: /, released)
    }
    assert.deepEqual(problemsOf({ released: '2024-02-29' }), [])
  })

  it('refuses an address that is no URL', () => {
    const { problems } = build([{ ...CHANNEL, base_url: 'https://' }], [])
    assert.deepEqual(problems, [
      { path: ['channels', 0, 'base_url'], message: 'the base_url of channel "main" is not a URL' },
    ])
  })
})

describe('parseDurationMs', () => {
  it('reads milliseconds, seconds and minutes', () => {
    assert.deepEqual(
      ['0s', '250ms', '5s', '2m', '1h', '30d'].map(parseDurationMs),
      [0, 250, 5_000, 120_000, 3_600_000, 2_592_000_000],
    )
  })
})
