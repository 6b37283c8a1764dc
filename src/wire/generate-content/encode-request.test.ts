import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Call, Message, Part } from '#core/call.ts'
import type { Quirks } from '#core/work.ts'
import { call as anyCall } from '../../../test/support/arbitrary-generate-content.ts'
import { target } from '../../../test/support/target.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeRequest } from './encode-request.ts'

const CALL: Call = {
  model: 'public-model',
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
  isStream: false,
  wantsStreamUsage: false,
  extensions: {},
}

function encode(fields: Partial<Call>, quirks: Quirks = {}) {
  return encodeRequest({ ...CALL, ...fields }, target({ quirks }))
}

function contentsOf(messages: Message[], quirks: Quirks = {}): unknown {
  return encode({ messages }, quirks).body.contents
}

const text = (said: string): Part => ({ type: 'text', text: said })

function toolCall(id: string, fields: Partial<Extract<Part, { type: 'tool-call' }>> = {}): Part {
  return { type: 'tool-call', kind: 'function', id, name: 'find', arguments: '{"q":1}', ...fields }
}

/** As it travels: undefined fields and values that JSON does not have are gone. */
function overTheWire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

describe('encodeRequest', () => {
  it('is undone by decodeRequest for every call that the format can carry', () => {
    fc.assert(
      fc.property(anyCall, call => {
        const { body, warnings } = encodeRequest(call, target())
        const received = { ...body, model: call.model, stream: call.isStream }
        assert.deepEqual(overTheWire(decodeRequest(overTheWire(received))), overTheWire(call))
        assert.deepEqual(warnings, [])
      }),
      { numRuns: 500 },
    )
  })

  it('leaves model and stream to the path', () => {
    assert.deepEqual(encode({ isStream: true, wantsStreamUsage: true }), {
      body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
      warnings: [],
    })
  })

  it('joins instructions before the conversation, and marks later ones as what they are', () => {
    const { body, warnings } = encode({
      messages: [
        { role: 'system', parts: [text('Be brief.')] },
        { role: 'developer', parts: [text('Be kind.')] },
        { role: 'user', parts: [text('Hi')] },
        { role: 'system', parts: [text('Now rhyme.')] },
      ],
    })
    assert.deepEqual(body.systemInstruction, { parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }] })
    assert.deepEqual(body.contents, [
      { role: 'user', parts: [{ text: 'Hi' }, { text: '<system>\nNow rhyme.\n</system>' }] },
    ])
    assert.deepEqual(warnings, ['a system message after the first turn has no equivalent in generate-content'])
  })

  it('asks what the instructions say when there is nothing else', () => {
    const { body } = encode({ messages: [{ role: 'system', parts: [text('Rhyme.')] }] })
    assert.deepEqual(body, { contents: [{ role: 'user', parts: [{ text: 'Rhyme.' }] }] })
  })

  it('puts all results of a turn into one content, in an object, under the name of their function', () => {
    const results: Message[] = [
      { role: 'tool', parts: [{ type: 'tool-result', callId: 'a', parts: [text('one'), text('two')] }] },
      { role: 'tool', parts: [{ type: 'tool-result', callId: 'b', parts: [text('No.')], isError: true }] },
      { role: 'tool', parts: [{ type: 'tool-result', callId: 'lost', parts: [] }] },
      { role: 'user', parts: [text('And?')] },
    ]
    const contents = contentsOf([
      { role: 'assistant', parts: [toolCall('a', { signature: 's' }), toolCall('b', { name: 'run' })] },
      ...results,
    ])
    assert.deepEqual(contents, [
      {
        role: 'model',
        parts: [
          { functionCall: { id: 'a', name: 'find', args: { q: 1 } }, thoughtSignature: 's' },
          { functionCall: { id: 'b', name: 'run', args: { q: 1 } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'a', name: 'find', response: { output: 'one\ntwo' } } },
          { functionResponse: { id: 'b', name: 'run', response: { error: 'No.' } } },
          { functionResponse: { id: 'lost', name: 'lost', response: {} } },
          { text: 'And?' },
        ],
      },
    ])
  })

  it("puts images of a tool's result beside its response", () => {
    const image: Part = { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } }
    const contents = contentsOf([
      { role: 'tool', parts: [{ type: 'tool-result', callId: 'a', name: 'f', parts: [image] }] },
    ])
    assert.deepEqual(contents, [
      {
        role: 'user',
        parts: [
          {
            functionResponse: {
              id: 'a',
              name: 'f',
              response: {},
              parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }],
            },
          },
        ],
      },
    ])
  })

  it('stands in for the signature that a foreign call lacks, on the first call of a step only', () => {
    const step: Message = { role: 'assistant', parts: [text('Look.'), toolCall('a'), toolCall('b')] }
    const signatures = (quirks: Quirks) =>
      (contentsOf([step], quirks) as { parts: { thoughtSignature?: string }[] }[])[0]?.parts.map(
        part => part.thoughtSignature,
      )
    assert.deepEqual(signatures({}), [undefined, 'skip_thought_signature_validator', undefined])
    assert.deepEqual(signatures({ placeholderSignatures: false }), [undefined, undefined, undefined])
  })

  it('asks for it on the first call whatever later ones have, and for none beside a signature of its own', () => {
    const signatures = (...parts: Part[]) =>
      (contentsOf([{ role: 'assistant', parts }]) as { parts: { thoughtSignature?: string }[] }[])[0]?.parts.map(
        part => part.thoughtSignature,
      )
    const sealed = toolCall('b', { signature: 's' })
    assert.deepEqual(signatures(toolCall('a'), sealed), ['skip_thought_signature_validator', 's'])
    assert.deepEqual(signatures(sealed, toolCall('a')), ['s', undefined])
  })

  it('sends no ids to an upstream that refuses them', () => {
    const contents = contentsOf(
      [
        { role: 'assistant', parts: [toolCall('a', { signature: 's' })] },
        { role: 'tool', parts: [{ type: 'tool-result', callId: 'a', parts: [text('1')] }] },
      ],
      { functionIds: false },
    )
    assert.deepEqual(contents, [
      { role: 'model', parts: [{ functionCall: { name: 'find', args: { q: 1 } }, thoughtSignature: 's' }] },
      { role: 'user', parts: [{ functionResponse: { name: 'find', response: { output: '1' } } }] },
    ])
  })

  it('makes an object of arguments that are none, and says so', () => {
    const argsOf = (fields: Parameters<typeof toolCall>[1]) => {
      const { body, warnings } = encode({ messages: [{ role: 'assistant', parts: [toolCall('a', fields)] }] })
      const [content] = body.contents as { parts: { functionCall: { args: unknown } }[] }[]
      return [content?.parts[0]?.functionCall.args, warnings]
    }
    const none = 'has no equivalent in generate-content'
    assert.deepEqual(argsOf({ arguments: '' }), [{}, []])
    assert.deepEqual(argsOf({ arguments: '{"x":' }), [
      { input: '{"x":' },
      [`function arguments that are no JSON object ${none}`],
    ])
    assert.deepEqual(argsOf({ kind: 'custom', arguments: 'ls' }), [{ input: 'ls' }, [`a custom tool call ${none}`]])
  })

  it('sends no empty parts, which the format refuses, but a signature alone', () => {
    const seal: Part = { type: 'text', text: '', signature: 's' }
    assert.deepEqual(
      contentsOf([
        { role: 'user', parts: [text(''), text('Hi')] },
        { role: 'assistant', parts: [text('')] },
      ]),
      [{ role: 'user', parts: [{ text: 'Hi' }] }],
    )
    assert.deepEqual(contentsOf([{ role: 'assistant', parts: [seal] }]), [
      { role: 'model', parts: [{ text: '', thoughtSignature: 's' }] },
    ])
  })

  it('leaves out the parameters of a function without any', () => {
    const parameters = { type: 'object', properties: {} }
    const { body } = encode({
      tools: [
        { kind: 'function', name: 'f', parameters },
        { kind: 'function', name: 'g' },
      ],
    })
    assert.deepEqual(body.tools, [{ functionDeclarations: [{ name: 'f' }, { name: 'g' }] }])
  })

  it('sends schemas as JSON schema, and cut down to an upstream that knows only the subset', () => {
    const schema = { type: 'object', additionalProperties: false, properties: { a: { const: 'x' } } }
    const call: Partial<Call> = {
      tools: [{ kind: 'function', name: 'f', parameters: schema }],
      output: { type: 'json-schema', schema },
    }
    const full = encode(call).body
    assert.deepEqual(full.tools, [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: schema }] }])
    assert.deepEqual(full.generationConfig, { responseMimeType: 'application/json', responseJsonSchema: schema })
    const subset = { type: 'OBJECT', properties: { a: { type: 'STRING', enum: ['x'] } } }
    const cut = encode(call, { jsonSchemas: false }).body
    assert.deepEqual(cut.tools, [{ functionDeclarations: [{ name: 'f', parameters: subset }] }])
    assert.deepEqual(cut.generationConfig, { responseMimeType: 'application/json', responseSchema: subset })
  })

  it('never sends a level and a budget of thinking together', () => {
    const thinking = (reasoning: Call['reasoning'], quirks: Quirks = {}) =>
      (encode({ reasoning }, quirks).body.generationConfig as { thinkingConfig: unknown }).thinkingConfig
    assert.deepEqual(thinking({ effort: 'high', budgetTokens: 5 }), { thinkingBudget: 5 })
    assert.deepEqual(thinking({ effort: 'none' }), { thinkingBudget: 0 })
    assert.deepEqual(thinking({ effort: 'max', isShown: true }), { includeThoughts: true, thinkingLevel: 'HIGH' })
    assert.deepEqual(thinking({ effort: 'medium' }, { thinkingLevels: false }), { thinkingBudget: 8192 })
  })

  it('leaves out what the format cannot say, and says so', () => {
    const { body, warnings } = encode({
      verbosity: 'low',
      cacheKey: 'k',
      endUser: 'u',
      metadata: { a: 'b' },
      serviceTier: 'flex',
      parallelToolCalls: false,
      reasoning: { effort: 'xhigh' },
      audioOutput: { voice: { id: 'v' }, format: 'wav' },
      output: { type: 'json-schema', name: 'n', description: 'd', strict: true, schema: {} },
      tools: [{ kind: 'opaque', format: 'messages', value: { type: 'computer' } }],
      messages: [
        {
          role: 'user',
          name: 'Ann',
          parts: [
            { ...text('Hi'), cache: {} } as Part,
            { type: 'image', source: { kind: 'file', id: 'file-1' }, detail: 'low' },
            { type: 'document', source: { kind: 'base64', mediaType: 'application/pdf', data: 'AA' }, filename: 'a' },
            { type: 'reasoning', text: '', encrypted: 'x' },
            { type: 'opaque', format: 'messages', value: {} },
          ],
        },
      ],
      extensions: { messages: { container: 'x' } },
    })
    assert.deepEqual(body.contents, [
      { role: 'user', parts: [{ text: 'Hi' }, { inlineData: { mimeType: 'application/pdf', data: 'AA' } }] },
    ])
    assert.deepEqual(warnings.map(each => each.replace(' has no equivalent in generate-content', '')).toSorted(), [
      'a part of messages',
      'a tool of messages',
      'a voice of this kind',
      "an output schema's description",
      "another provider's file id",
      'audio as wav',
      'cache_control',
      'container',
      'detail',
      'encrypted reasoning',
      'filename',
      'metadata',
      'name',
      'parallel_tool_calls',
      'prompt_cache_key',
      'reasoning effort xhigh',
      'service_tier',
      'strict',
      'user',
      'verbosity',
    ])
  })

  it('says so when it leaves out what another format knows about a part or a tool', () => {
    const result: Part = {
      type: 'tool-result',
      callId: 'c',
      parts: [{ ...text('x'), extensions: { messages: { a: 1 } } } as Part],
    }
    const { warnings } = encode({
      tools: [{ kind: 'function', name: 'f', cache: {}, extensions: { responses: { defer_loading: true } } }],
      messages: [
        { role: 'assistant', parts: [{ ...text('So'), extensions: { 'chat-completions': { prefix: true } } } as Part] },
        { role: 'tool', parts: [result] },
      ],
    })
    assert.deepEqual(warnings, [
      'cache_control has no equivalent in generate-content',
      'defer_loading has no equivalent in generate-content',
      'prefix has no equivalent in generate-content',
      'a has no equivalent in generate-content',
    ])
  })
})
