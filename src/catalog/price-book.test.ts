import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadBook } from './book-package.ts'
import { readPrices } from './book-prices.ts'
import { type BookEntry, BUNDLED_BOOK, isSilent } from './price-book.ts'

const AT = new Date('2026-11-21T12:00:00Z')
const OPENAI = 'https://api.openai.com/v1'

function found(address: string, model: string): BookEntry {
  const answer = BUNDLED_BOOK.find(address, model, AT)
  assert.ok(!isSilent(answer), JSON.stringify(answer))
  return answer
}

function refusal(address: string, model: string): string {
  const answer = BUNDLED_BOOK.find(address, model, AT)
  assert.ok(isSilent(answer), JSON.stringify(answer))
  return answer.reason
}

describe('the price book', () => {
  it('knows a model by the host and its name there', () => {
    const { price, reference, contextLength } = found(OPENAI, 'gpt-5-mini-2025-08-07')
    assert.deepEqual(price, { input: '0.25', output: '2', cache_read: '0.025', per: '1M' })
    assert.equal(reference.entry, 'openai/gpt-5-mini')
    assert.match(reference.edition, /^@pydantic\/genai-prices \d+\.\d+\.\d+$/)
    assert.equal(contextLength, 400_000)
  })

  it('has the tiers of long contexts and every kind of cached token', () => {
    assert.deepEqual(found('https://api.anthropic.com', 'claude-sonnet-4-5-20250929').price, {
      input: '3',
      output: '15',
      cache_read: '0.3',
      cache_write_5m: '3.75',
      cache_write_1h: '6',
      tiers: [
        { above: 200_000, input: '6', output: '22.5', cache_read: '0.6', cache_write_5m: '7.5', cache_write_1h: '12' },
      ],
      per: '1M',
    })
  })

  it('is the same when it is asked by its own name', () => {
    assert.deepEqual(BUNDLED_BOOK.entry('openai/gpt-5-mini', AT), found(OPENAI, 'gpt-5-mini'))
  })

  it('says what a provider charges besides', () => {
    assert.ok(found(OPENAI, 'gpt-5-mini').notes.includes('web searches of the provider are not charged'))
  })

  it('does not guess: not the host, not the model', () => {
    assert.match(refusal('http://localhost:11434/v1', 'llama3.3'), /does not know the host/)
    assert.match(refusal('https://api.groq.community/v1', 'llama-3.3-70b-versatile'), /does not know the host/)
    assert.match(refusal(OPENAI, 'gpt-5-turbo'), /has no "gpt-5-turbo" of openai/)
    assert.deepEqual(BUNDLED_BOOK.entry('azureopenai/gpt-5', AT), {
      reason: 'has no provider "azureopenai"',
      knowsHost: true,
      suggestions: [],
    })
  })

  it('suggests what was probably meant', () => {
    const answer = BUNDLED_BOOK.find(OPENAI, 'gpt-5-minni', AT)
    assert.ok(isSilent(answer) && answer.suggestions[0] === 'gpt-5-mini')
  })

  it('does not price what no set of rates can say', () => {
    assert.match(refusal('https://api.deepseek.com', 'deepseek-chat'), /time of day/)
    const google = 'https://generativelanguage.googleapis.com/v1beta'
    assert.match(refusal(google, 'gemini-2.5-flash-image'), /output_image_mtok, which Tollgate does not count/)
  })

  it('prices what is charged by the hour only where a second has an exact price', () => {
    assert.deepEqual(found(OPENAI, 'whisper-1').price, { second: '0.0001', per: '1M' })
    assert.match(refusal('https://api.groq.com/openai/v1', 'whisper-large-v3'), /no exact price for one/)
  })

  it('follows a price that changes on a day', () => {
    const before = BUNDLED_BOOK.entry('openai/gpt-5.6-luna', new Date('2020-01-01'))
    const after = BUNDLED_BOOK.entry('openai/gpt-5.6-luna', AT)
    assert.ok(!isSilent(before) && !isSilent(after))
    assert.deepEqual([before.price.input, after.price.input], ['1', '0.2'])
  })
})

describe('readPrices, of every model that the book has', () => {
  it('is what the book itself would charge, part for part, below and above every bound', () => {
    const book = loadBook()
    let checked = 0
    for (const id of [
      'anthropic',
      'openai',
      'google',
      'aws',
      'azure',
      'x-ai',
      'mistral',
      'groq',
      'openrouter',
      'cohere',
    ]) {
      for (const model of book.findProvider({ providerId: id })?.models ?? []) {
        const prices = Array.isArray(model.prices) ? model.prices.at(-1)?.prices : model.prices
        const reading = prices && readPrices(model, prices)
        if (!reading || 'problem' in reading) continue
        const { tiers = [], ...base } = reading.price
        const bounds = [{ above: 0, ...base }, ...tiers]
        for (const [i, rates] of bounds.entries()) {
          const longest = bounds[i + 1]?.above ?? 10_000_000
          for (const tokens of [rates.above + 1, longest]) {
            const provider = {
              id: 'p',
              name: 'p',
              api_pattern: '',
              models: [{ ...model, match: { equals: 'm' }, prices }],
            }
            const theirs = book.calcPrice({ input_tokens: tokens, output_tokens: 1_000 }, 'm', { provider })
            const request = Number(base.request ?? 0)
            const ours = (Number(rates.input ?? 0) * tokens + Number(rates.output ?? 0) * 1_000) / 1e6 + request
            assert.ok(Math.abs((theirs?.total_price ?? -1) - ours) < 1e-9, `${id}/${model.id} at ${tokens}`)
            checked += 1
          }
        }
      }
    }
    assert.ok(checked > 1_000, `${checked} checked`)
  })
})
