import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RequestTraits } from '#core/traits.ts'
import { chatWork } from './chat.ts'
import type { FormatName } from './format.ts'
import { CHAT_FORMATS } from './formats.ts'

type Body = Record<string, unknown>

const LONG = 'A rule that is repeated. '.repeat(400)

function traits(format: FormatName, body: Body): RequestTraits {
  const given = { model: 'm', ...(format === 'messages' && { max_tokens: 9 }), ...body }
  const known = CHAT_FORMATS.get(format)
  const found = known && chatWork(known, Buffer.from(JSON.stringify(given))).traits?.()
  assert.ok(found)
  return found
}

/** A conversation in each format: instructions, what the user says first, and what follows. */
const SAYING: Readonly<Record<FormatName, (system: string, first: string, ...rest: string[]) => Body>> = {
  'chat-completions': (system, ...said) => ({
    messages: [{ role: 'system', content: system }, ...turns(said, 'assistant', content => ({ content }))],
  }),
  messages: (system, ...said) => ({ system, messages: turns(said, 'assistant', content => ({ content })) }),
  responses: (instructions, ...said) => ({
    instructions,
    input: turns(said, 'assistant', content => ({ content })),
  }),
  'generate-content': (system, ...said) => ({
    systemInstruction: { parts: [{ text: system }] },
    contents: turns(said, 'model', text => ({ parts: [{ text }] })),
  }),
}

function turns(said: readonly string[], other: string, toTurn: (text: string) => Body): Body[] {
  return said.map((text, i) => ({ role: i % 2 ? other : 'user', ...toTurn(text) }))
}

const FORMATS = Object.keys(SAYING) as FormatName[]

describe('a conversation', () => {
  for (const format of FORMATS) {
    it(`${format}: is known by how it begins, in all its requests`, () => {
      const say = SAYING[format]
      const first = traits(format, say(LONG, 'Hello')).conversation()
      assert.equal(traits(format, say(LONG, 'Hello', 'Hi!', 'And then?')).conversation(), first)
      assert.notEqual(traits(format, say(LONG, 'Good day')).conversation(), first)
      assert.notEqual(traits(format, say(`${LONG}!`, 'Hello')).conversation(), first)
    })

    it(`${format}: is worth a cache when it is long`, () => {
      const say = SAYING[format]
      assert.deepEqual(
        [traits(format, say('Be brief.', 'Hello')), traits(format, say(LONG, 'Hello'))].map(each => each.isCacheable),
        [false, true],
      )
    })
  }

  it('is known by the key that the caller gives it, whatever it says', () => {
    for (const format of ['chat-completions', 'responses'] as const) {
      const keyed = traits(format, { ...SAYING[format]('x', 'Hello'), prompt_cache_key: 'k' })
      assert.deepEqual([keyed.conversation(), keyed.isCacheable], ['k', true])
    }
  })
})

describe('what a request needs', () => {
  const png = { inlineData: { mimeType: 'image/png', data: 'AAAA' } }
  const wav = { inlineData: { mimeType: 'audio/wav', data: 'AAAA' } }
  const user = (...content: Body[]) => [{ role: 'user', content }]
  const contents = (...parts: Body[]) => [{ role: 'user', parts }]
  const text = { type: 'text', text: 'Hi' }
  const cases: readonly (readonly [FormatName, Body, readonly string[]])[] = [
    ['chat-completions', { messages: user(text) }, []],
    ['chat-completions', { messages: user(text), tools: [] }, []],
    ['chat-completions', { messages: user(text), tools: [{ type: 'function', function: { name: 'f' } }] }, ['tools']],
    ['chat-completions', { messages: user({ type: 'image_url', image_url: { url: 'https://x.test/' } }) }, ['vision']],
    ['chat-completions', { messages: user({ type: 'input_audio', input_audio: {} }) }, ['audio']],
    [
      'chat-completions',
      { messages: user(text), modalities: ['text', 'audio'], audio: { voice: 'v', format: 'wav' } },
      ['audio'],
    ],
    ['chat-completions', { messages: user(text), response_format: { type: 'json_schema' } }, ['json_schema']],
    ['chat-completions', { messages: user(text), response_format: { type: 'json_object' } }, []],
    ['chat-completions', { messages: user(text), reasoning_effort: 'low' }, ['reasoning']],
    ['chat-completions', { messages: user(text), reasoning_effort: 'none' }, []],
    ['messages', { messages: user(text), tools: [{ name: 'f' }] }, ['tools']],
    [
      'messages',
      { messages: user({ type: 'tool_result', tool_use_id: 'x', content: [{ type: 'image' }] }) },
      ['vision'],
    ],
    ['messages', { messages: user(text), output_config: { format: { type: 'json_schema' } } }, ['json_schema']],
    ['messages', { messages: user(text), thinking: { type: 'enabled', budget_tokens: 1024 } }, ['reasoning']],
    ['messages', { messages: user(text), thinking: { type: 'disabled' } }, []],
    ['responses', { input: 'Hi', tools: [{ type: 'function', name: 'f' }] }, ['tools']],
    ['responses', { input: [{ role: 'user', content: [{ type: 'input_image' }] }] }, ['vision']],
    ['responses', { input: [{ type: 'function_call_output', output: [{ type: 'input_image' }] }] }, ['vision']],
    ['responses', { input: 'Hi', text: { format: { type: 'json_schema' } } }, ['json_schema']],
    ['responses', { input: 'Hi', reasoning: { effort: 'high' } }, ['reasoning']],
    ['generate-content', { contents: contents(png) }, ['vision']],
    ['generate-content', { contents: contents(wav), tools: [{ googleSearch: {} }] }, ['tools', 'audio']],
    [
      'generate-content',
      { contents: contents({ text: 'Hi' }), generationConfig: { response_schema: {} } },
      ['json_schema'],
    ],
    [
      'generate-content',
      { contents: contents({ text: 'Hi' }), generationConfig: { thinkingConfig: { includeThoughts: true } } },
      ['reasoning'],
    ],
    [
      'generate-content',
      { contents: contents({ text: 'Hi' }), generationConfig: { thinking_config: { thinking_budget: 0 } } },
      [],
    ],
  ]
  for (const [format, body, needs] of cases) {
    it(`${format} ${JSON.stringify(body).slice(0, 120)}: ${needs.join(', ') || 'nothing'}`, () => {
      assert.deepEqual(traits(format, body).needs, needs)
    })
  }
})

describe('a conversation that holds sealed thoughts', () => {
  const cases: readonly (readonly [FormatName, Body])[] = [
    ['chat-completions', { messages: [{ role: 'assistant', content: 'x', reasoning_details: [{}] }] }],
    ['messages', { messages: [{ role: 'assistant', content: [{ type: 'thinking', thinking: '', signature: 's' }] }] }],
    ['responses', { input: [{ type: 'reasoning', summary: [], encrypted_content: 's' }] }],
    ['generate-content', { contents: [{ role: 'model', parts: [{ text: 'x', thoughtSignature: 's' }] }] }],
  ]
  for (const [format, body] of cases) {
    it(`${format}: is known as such`, () => {
      assert.equal(traits(format, body).isSealed, true)
      assert.equal(traits(format, SAYING[format]('Be brief.', 'Hello')).isSealed, false)
    })
  }
})
