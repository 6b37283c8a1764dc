import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { insertKey, type MintedCredential } from '../support/credentials.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { ScriptedUpstream } from '../support/upstream.ts'

type Body = Record<string, unknown>

interface Answer {
  readonly status: number
  readonly body: Body
  readonly error: Body
}

const PRICE = 'price: { input: "1", output: "2", per: 1M }'
const OFFERS = 'offers: [{ channel: main, upstream_model: upstream-model }]'

function model(id: string, fields = ''): string {
  return `  - { id: "${id}", scene: chat, ${fields}${PRICE}, ${OFFERS} }\n`
}

function config(url: string, models: string): string {
  return `channels:
  - { id: main, provider: openai, base_url: "${url}/v1", api_key: sk-upstream-secret }
  - { id: cheap, provider: openai, base_url: "${url}/v1", tier: verified }
models:
${models}`
}

const PUBLIC_MODELS = [
  model('test-chat'),
  model('test-chat-mini'),
  model('test-chat-large'),
  model('test-chat-huge'),
  model('vendor/model-7b:free', 'vendor: vendor, '),
  model('a/b/c.d'),
  model('painter').replace('scene: chat', 'scene: image, recommended_for: [image]'),
  model('director').replace('scene: chat', 'scene: video, recommended_for: [video, image]'),
  model('composer').replace('scene: chat', 'scene: music, recommended_for: [music]'),
  model('sculptor').replace('scene: chat', 'scene: 3d, recommended_for: [3d]'),
  `  - id: detailed
    vendor: acme
    logical_model: detailed-logical
    name: Detailed
    description: A model with everything said about it
    released: 2026-01-31
    scene: chat
    capabilities: [tools, vision]
    tags: [fast]
    context_length: 400000
    max_output_tokens: 128000
    price: { input: "0.25", output: "2.00", cache_read: "0.025", request: "0.001", per: 1M }
    offers:
      - { channel: main }
      - { channel: cheap, price: { input: "0.0000002", output: "1.6", per: 1 } }
`,
].join('')
const PUBLIC_IDS = [
  'test-chat',
  'test-chat-mini',
  'test-chat-large',
  'test-chat-huge',
  'vendor/model-7b:free',
  'a/b/c.d',
  'painter',
  'director',
  'composer',
  'sculptor',
  'detailed',
]
const INVISIBLE_MODELS =
  model('unheard-of-alpha', 'visibility: hidden, recommended_for: [image], ') +
  model('unheard-of-beta', 'visibility: deferred, recommended_for: [image], ') +
  model('vendor/unheard-of', 'visibility: hidden, ')

let upstream: ScriptedUpstream
let gateway: Gateway
let restricted: MintedCredential
let promisedHidden: MintedCredential

before(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await Gateway.start({ config: config(upstream.url, PUBLIC_MODELS + INVISIBLE_MODELS) })
  restricted = await insertKey(gateway, { models: ['vendor/model-7b:free', 'painter'] })
  promisedHidden = await insertKey(gateway, { models: ['unheard-of-alpha', 'never-was'] })
})

after(async () => {
  await gateway.stop()
  await upstream.stop()
})

async function answerOf(response: Response): Promise<Answer> {
  const body = (await response.json()) as Body
  return { status: response.status, body, error: (body.error ?? {}) as Body }
}

async function list(query = '', key = gateway.apiKey): Promise<string[]> {
  const { status, body } = await answerOf(await gateway.fetch(`/v1/models${query}`, { key }))
  assert.equal(status, 200)
  assert.equal(body.object, 'list')
  return (body.data as Body[]).map(({ id }) => String(id))
}

async function retrieve(path: string, key = gateway.apiKey): Promise<Answer> {
  return answerOf(await gateway.fetch(`/v1/models/${path}`, { key }))
}

async function use(id: string, { key = gateway.apiKey, stream = false } = {}): Promise<Answer> {
  const body = { model: id, stream, messages: [{ role: 'user', content: 'Hi' }] }
  return answerOf(await gateway.post('/v1/chat/completions', body, { key }))
}

async function embed(id: string, key = gateway.apiKey): Promise<Answer> {
  return answerOf(await gateway.post('/v1/embeddings', { model: id, input: 'Hi' }, { key }))
}

describe('the list of models', () => {
  it('holds the public ones, in the order of the configuration', async () => {
    assert.deepEqual(await list(), PUBLIC_IDS)
  })

  it('says the same of each as its own page', async () => {
    const { body } = await answerOf(await gateway.fetch('/v1/models'))
    for (const record of body.data as Body[]) {
      const own = await retrieve(encodeURIComponent(String(record.id)))
      assert.deepEqual(own.body, record)
    }
  })

  it('tells what one needs to choose a model', async () => {
    const { body } = await retrieve('detailed')
    assert.deepEqual(body, {
      id: 'detailed',
      object: 'model',
      created: Date.UTC(2026, 0, 31) / 1000,
      owned_by: 'acme',
      name: 'Detailed',
      description: 'A model with everything said about it',
      vendor: 'acme',
      logical_model: 'detailed-logical',
      scene: 'chat',
      status: 'available',
      capabilities: ['tools', 'vision'],
      tags: ['fast'],
      recommended_for: [],
      context_length: 400_000,
      max_output_tokens: 128_000,
      delivery: ['official', 'verified'],
      pricing: {
        currency: 'USD',
        per_tokens: 1_000_000,
        official: { input: '0.25', output: '2', cache_read: '0.025', request: '0.001' },
        verified: { input: '0.2', output: '1600000' },
      },
    })
  })

  it('tells nothing of how a model is delivered', async () => {
    const text = await (await gateway.fetch('/v1/models')).text()
    for (const internal of ['upstream-model', 'sk-upstream', upstream.url, '"main"', '"cheap"']) {
      assert.ok(!text.includes(internal), internal)
    }
  })

  for (const [kind, ids] of Object.entries({
    image: ['painter', 'director'],
    video: ['director'],
    music: ['composer'],
    '3d': ['sculptor'],
  })) {
    it(`is filtered by recommended_for=${kind}`, async () => {
      assert.deepEqual(await list(`?recommended_for=${kind}`), ids)
    })
  }

  for (const kind of ['chat', 'IMAGE', '', 'image,video', '%00', '__proto__']) {
    it(`refuses recommended_for=${kind}`, async () => {
      const { status, error } = await answerOf(await gateway.fetch(`/v1/models?recommended_for=${kind}`))
      assert.equal(status, 400)
      assert.equal(error.type, 'invalid_request_error')
      assert.equal(error.param, 'recommended_for')
      assert.match(String(error.message), /image, video, music, 3d/)
    })
  }

  it('does not mind a query that it does not know', async () => {
    assert.deepEqual(await list('?limit=1&after=x'), PUBLIC_IDS)
  })
})

describe('hidden, deferred and unknown models cannot be told apart', () => {
  const ids = ['unheard-of-alpha', 'unheard-of-beta', 'unheard-of-gamma']

  /** The same answer, whichever of the ids it is about. */
  function assertSame(answers: readonly Answer[], asked: readonly string[] = ids): void {
    const texts = answers.map(
      ({ status, body }, i) => `${status} ${JSON.stringify(body).replaceAll(asked[i] ?? '', 'ID')}`,
    )
    assert.deepEqual(new Set(texts).size, 1, texts.join('\n'))
    const [first] = answers
    assert.equal(first?.status, 400)
    assert.equal(first?.error.type, 'invalid_request_error')
    assert.equal(first?.error.code, 'model_not_found')
    assert.equal(first?.error.param, 'model')
    assert.match(String(first?.error.message), new RegExp(`"${asked[0]}" is not available`))
    assert.equal(first?.error.hint, 'GET /v1/models lists the models that this key may use.')
  }

  it('when they are listed', async () => {
    const listed = [...(await list()), ...(await list('?recommended_for=image'))]
    for (const id of ids) assert.ok(!listed.includes(id))
  })

  it('when they are retrieved', async () => {
    assertSame(await Promise.all(ids.map(id => retrieve(id))))
  })

  it('when they are used, whole or streamed', async () => {
    for (const stream of [false, true]) assertSame(await Promise.all(ids.map(id => use(id, { stream }))))
    assert.equal(upstream.seen.length, 0)
  })

  it('when they are used at the wrong endpoint', async () => {
    assertSame(await Promise.all(ids.map(id => embed(id))))
  })

  it('when a restricted key asks', async () => {
    assertSame(await Promise.all(ids.map(id => use(id, { key: restricted.credential }))))
    assertSame(await Promise.all(ids.map(id => retrieve(id, restricted.credential))))
  })

  it('when the key is restricted to them', async () => {
    const { credential: key } = promisedHidden
    const asked = ['unheard-of-alpha', 'never-was']
    assertSame(await Promise.all(asked.map(id => use(id, { key }))), asked)
    assertSame(await Promise.all(asked.map(id => retrieve(id, key))), asked)
    assert.deepEqual(await list('', key), [])
  })

  it('when they are nearly named: none is suggested', async () => {
    for (const typo of ['unheard-of-alpah', 'unheard-of-bet', 'unheard-of', 'vendor/unheard-off']) {
      for (const { error } of [await use(typo), await retrieve(typo)]) {
        assert.equal(error.code, 'model_not_found')
        assert.ok(!('did_you_mean' in error) && !('suggestions' in error), JSON.stringify(error))
      }
    }
  })

  it('when the configuration changes: what was public a moment ago is as unknown as the rest', async () => {
    const own = await Gateway.start({ config: config(upstream.url, model('steady') + model('fleeting')) })
    try {
      const listed = async () => {
        const { body } = await answerOf(await own.fetch('/v1/models'))
        return (body.data as Body[]).map(({ id }) => id)
      }
      const becomes = (expected: string[]) =>
        eventually(expected.join(), async () => (`${await listed()}` === `${expected}` ? true : undefined))
      assert.deepEqual(await listed(), ['steady', 'fleeting'])
      for (const visibility of ['hidden', 'deferred']) {
        await own.writeConfig(config(upstream.url, model('steady') + model('fleeting', `visibility: ${visibility}, `)))
        await becomes(['steady'])
        const asked = ['fleeting', 'flooting']
        const answers = await Promise.all(asked.map(async id => answerOf(await own.fetch(`/v1/models/${id}`))))
        assertSame(answers, asked)
        await own.writeConfig(config(upstream.url, model('steady') + model('fleeting')))
        await becomes(['steady', 'fleeting'])
      }
    } finally {
      await own.stop()
    }
  })
})

describe('an id with slashes and colons', () => {
  const paths = ['vendor/model-7b:free', 'vendor%2Fmodel-7b%3Afree', 'vendor%2fmodel-7b:free', '%76endor/model-7b:free']
  for (const path of paths) {
    it(`is found at ${path}`, async () => {
      const { status, body } = await retrieve(path)
      assert.equal(status, 200)
      assert.equal(body.id, 'vendor/model-7b:free')
    })
  }

  it('may have several slashes', async () => {
    assert.equal((await retrieve('a/b/c.d')).body.id, 'a/b/c.d')
  })

  it('is used by its whole name', async () => {
    const { status, body } = await use('vendor/model-7b:free')
    assert.equal(status, 200)
    assert.equal(body.model, 'vendor/model-7b:free')
    assert.equal(upstream.seen.at(-1)?.body.model, 'upstream-model')
  })

  it('is not found by a part of it, by more than it, or by another case', async () => {
    for (const path of [
      'vendor',
      'vendor/',
      'vendor/model-7b',
      'model-7b:free',
      'vendor/model-7b:free/',
      'VENDOR/model-7b:free',
      '',
    ]) {
      const { status, error } = await retrieve(path)
      assert.equal(status, 400, path)
      assert.equal(error.code, 'model_not_found')
    }
  })

  it('is not confused with a path', async () => {
    for (const id of ['../models', 'a/../test-chat', './test-chat', 'test-chat%00', 'test-chat%20']) {
      const { status, error } = await retrieve(id.replaceAll('../', '%2e%2e%2f').replaceAll('./', '%2e%2f'))
      assert.equal(status, 400, id)
      assert.equal(error.code, 'model_not_found')
    }
  })
})

describe('a restricted key', () => {
  const allowed = ['vendor/model-7b:free', 'painter']

  it('sees its models and no others', async () => {
    const { credential: key } = restricted
    assert.deepEqual(await list('', key), allowed)
    assert.deepEqual(await list('?recommended_for=image', key), ['painter'])
    assert.deepEqual(await list('?recommended_for=video', key), [])
    for (const id of allowed) assert.equal((await retrieve(id, key)).status, 200)
  })

  it('is told nothing of a model that it may not use, as if there were none', async () => {
    const { credential: key } = restricted
    const [known, unknown] = await Promise.all([retrieve('composer', key), retrieve('compoxer', key)])
    assert.equal(known?.status, 400)
    assert.equal(
      JSON.stringify(known).replaceAll('composer', 'ID'),
      JSON.stringify(unknown).replaceAll('compoxer', 'ID'),
    )
  })

  it('uses its models; another one is 403 model_not_allowed', async () => {
    const { credential: key } = restricted
    assert.equal((await use('vendor/model-7b:free', { key })).status, 200)
    const before = upstream.seen.length
    for (const stream of [false, true]) {
      const { status, error } = await use('test-chat', { key, stream })
      assert.equal(status, 403)
      assert.equal(error.type, 'access_denied')
      assert.equal(error.code, 'model_not_allowed')
      assert.equal(error.param, 'model')
      assert.match(String(error.hint), /vendor\/model-7b:free, painter/)
    }
    assert.equal(upstream.seen.length, before)
  })

  it('gets suggestions from its own models only', async () => {
    const { credential: key } = restricted
    const { error } = await use('paintre', { key })
    assert.equal(error.did_you_mean, 'painter')
    for (const answer of [await use('test-chta', { key }), await retrieve('test-chta', key)]) {
      assert.equal(answer.error.code, 'model_not_found')
      assert.ok(!('did_you_mean' in answer.error))
    }
  })
})

describe('a mistyped model', () => {
  const typos: Readonly<Record<string, string>> = {
    'test-chta': 'test-chat',
    'test-cha': 'test-chat',
    test_chat: 'test-chat',
    'Test-Chat': 'test-chat',
    testchat: 'test-chat',
    'openai/test-chat': 'test-chat',
    'test-chat-mni': 'test-chat-mini',
    'model-7b:free': 'vendor/model-7b:free',
    painterr: 'painter',
    ' sculptor ': 'sculptor',
  }
  for (const [typo, meant] of Object.entries(typos)) {
    it(`"${typo}" is taken for "${meant}"`, async () => {
      const { status, error } = await use(typo)
      assert.equal(status, 400)
      assert.equal(error.code, 'model_not_found')
      assert.equal(error.did_you_mean, meant)
      assert.deepEqual((error.suggestions as Body[])[0], { id: meant })
    })
  }

  it('gets three suggestions at most, all of which exist', async () => {
    const { error } = await use('test-chat-m')
    const suggestions = (error.suggestions as Body[]).map(({ id }) => String(id))
    assert.equal(suggestions.length, 3)
    for (const id of suggestions) assert.ok(PUBLIC_IDS.includes(id))
    assert.equal(new Set(suggestions).size, 3)
  })

  it('that resembles nothing gets none, however long it is', async () => {
    for (const id of ['zzzzzz', '💥💥💥', 'x'.repeat(100_000), '\u0000', '{}']) {
      const { status, error } = await use(id)
      assert.equal(status, 400)
      assert.equal(error.code, 'model_not_found')
      assert.ok(!('did_you_mean' in error) && !('suggestions' in error))
      assert.ok(String(error.message).length < 300)
    }
  })

  it('that is the name of a prototype is a model like any other', async () => {
    for (const id of ['__proto__', 'constructor', 'toString']) {
      assert.equal((await use(id)).error.code, 'model_not_found')
      assert.equal((await retrieve(id)).error.code, 'model_not_found')
    }
  })
})

it('a model that is no chat model is refused at the chat endpoint, with the field named', async () => {
  for (const id of ['painter', 'composer']) {
    const { status, error } = await use(id)
    assert.equal(status, 400)
    assert.equal(error.type, 'invalid_request_error')
    assert.equal(error.param, 'model')
    assert.ok(!('code' in error))
  }
})
