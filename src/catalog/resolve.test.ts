import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Fault } from '#core/fault.ts'
import { buildCatalog } from './build.ts'
import { resolveModel, unknownModel, visibleModels } from './resolve.ts'

const { catalog } = buildCatalog(
  {
    channels: [{ id: 'main', provider: 'openai' }],
    models: ['gpt-5', 'gpt-5-mini', 'gemini-2.5-pro', 'secret'].map(id => ({
      id,
      scene: 'chat' as const,
      visibility: id === 'secret' ? ('hidden' as const) : ('public' as const),
      price: { input: '1', output: '1' },
      offers: [{ channel: 'main' }],
    })),
  },
  new Map([['openai', { baseUrl: 'https://api.openai.com/v1' }]]),
)

function refusal(id: string, allowed?: readonly string[]): Fault {
  try {
    resolveModel(catalog, id, allowed)
  } catch (error) {
    assert.ok(error instanceof Fault)
    return error
  }
  assert.fail('the model was found')
}

describe('resolveModel', () => {
  it('finds a model by its exact id', () => {
    assert.equal(resolveModel(catalog, 'gpt-5', undefined).id, 'gpt-5')
    assert.equal(resolveModel(catalog, 'gpt-5', ['gpt-5']).id, 'gpt-5')
  })

  it('says what may have been meant', () => {
    const fault = refusal('gtp-5')
    assert.deepEqual([fault.code, fault.param, fault.hints.didYouMean], ['model_not_found', 'model', 'gpt-5'])
    assert.deepEqual(fault.hints.suggestions, ['gpt-5'])
    assert.equal(refusal('whisper').hints.suggestions, undefined)
  })

  it('cannot be used to tell a hidden model from one that does not exist', () => {
    const [hidden, absent] = [refusal('secret'), refusal('secreu')]
    assert.equal(hidden.message.replace('secret', 'secreu'), absent.message)
    assert.deepEqual([hidden.code, hidden.hints], [absent.code, absent.hints])
  })

  it("refuses a model outside the key's list, and names those inside", () => {
    const fault = refusal('gpt-5', ['gemini-2.5-pro'])
    assert.equal(fault.code, 'model_not_allowed')
    assert.match(fault.hints.hint ?? '', /gemini-2\.5-pro/)
  })

  it('suggests only what the key may use', () => {
    assert.deepEqual(refusal('gtp-5', ['gpt-5-mini']).hints.suggestions, undefined)
    assert.deepEqual(refusal('gpt-5-mni', ['gpt-5-mini']).hints.suggestions, ['gpt-5-mini'])
  })

  it('takes names of built-in properties for unknown models', () => {
    for (const id of ['constructor', '__proto__', '']) assert.equal(refusal(id).code, 'model_not_found')
  })
})

describe('unknownModel', () => {
  it('does not repeat a whole novel', () => {
    assert.ok(unknownModel(catalog, 'x'.repeat(100_000), undefined).message.length < 300)
  })
})

describe('visibleModels', () => {
  it('lists what the key may use in the order of the configuration', () => {
    const ids = (allowed?: string[]) => visibleModels(catalog, allowed).map(({ id }) => id)
    assert.deepEqual(ids(), ['gpt-5', 'gpt-5-mini', 'gemini-2.5-pro'])
    assert.deepEqual(ids(['gemini-2.5-pro', 'gpt-5', 'secret', 'gone']), ['gpt-5', 'gemini-2.5-pro'])
    assert.deepEqual(ids([]), [])
  })
})
