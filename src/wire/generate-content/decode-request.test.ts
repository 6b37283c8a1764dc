import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Call, Message, Part } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import { target } from '../../../test/support/target.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeRequest } from './encode-request.ts'

const BODY = { model: 'gemini-x', contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }
const FORMAT = 'generate-content'

function decode(fields: Record<string, unknown>): Call {
  return decodeRequest({ ...BODY, ...fields })
}

function messagesOf(...contents: Record<string, unknown>[]): readonly Message[] {
  return decode({ contents }).messages
}

function partsOf(...parts: unknown[]): readonly Part[] {
  return messagesOf({ parts })[0]?.parts ?? []
}

function config(fields: Record<string, unknown>): Call {
  return decode({ generationConfig: fields })
}

function faultOf(body: unknown): Fault {
  try {
    decodeRequest(body)
  } catch (error) {
    assert.ok(error instanceof Fault, String(error))
    assert.equal(error.code, 'invalid_request')
    return error
  }
  assert.fail('it was accepted')
}

function known(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

describe('decodeRequest', () => {
  it('reads every field that has a neutral meaning', () => {
    const call = decode({
      stream: true,
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      generationConfig: {
        temperature: 0,
        topP: 0.5,
        topK: 40,
        maxOutputTokens: 7,
        stopSequences: ['end'],
        candidateCount: 1,
        seed: -3,
        presencePenalty: -1,
        frequencyPenalty: 1,
        responseLogprobs: true,
        logprobs: 3,
        responseModalities: ['TEXT', 'AUDIO'],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
        thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: true },
      },
    })
    assert.deepEqual(known(call), {
      model: 'gemini-x',
      messages: [
        { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
        { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
      ],
      temperature: 0,
      topP: 0.5,
      topK: 40,
      maxOutputTokens: 7,
      stop: ['end'],
      choices: 1,
      seed: -3,
      presencePenalty: -1,
      frequencyPenalty: 1,
      topLogprobs: 3,
      modalities: ['text', 'audio'],
      audioOutput: { voice: 'Kore', format: 'pcm16' },
      reasoning: { effort: 'low', isShown: true },
      isStream: true,
      wantsStreamUsage: true,
      extensions: {},
    })
  })

  it('takes snake case for camel case', () => {
    const call = decode({
      system_instruction: 'Be brief.',
      contents: [{ parts: [{ inline_data: { mime_type: 'image/png', data: 'AAAA' } }] }],
      generation_config: { max_output_tokens: 7, thinking_config: { thinking_budget: 5 } },
      tool_config: { function_calling_config: { mode: 'ANY', allowed_function_names: ['f'] } },
    })
    assert.equal(call.messages[0]?.role, 'system')
    assert.equal(call.messages[1]?.parts[0]?.type, 'image')
    assert.deepEqual([call.maxOutputTokens, call.reasoning], [7, { budgetTokens: 5 }])
    assert.deepEqual(call.toolChoice, { mode: 'tool', name: 'f' })
  })

  it('takes null for not given', () => {
    const nulls = {
      systemInstruction: null,
      tools: null,
      toolConfig: null,
      generationConfig: null,
      safetySettings: null,
    }
    assert.deepEqual(decode(nulls), decodeRequest(BODY))
    assert.deepEqual(config({ temperature: null, thinkingConfig: null, responseSchema: null }).extensions, {})
  })

  it('keeps what it does not know where it stood, and gives it back', () => {
    const extra = {
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'OFF' }],
      cachedContent: 'cachedContents/1',
      labels: { some_key: 'x' },
      toolConfig: { functionCallingConfig: { mode: 'VALIDATED' }, retrievalConfig: { languageCode: 'de' } },
      generationConfig: {
        mediaResolution: 'MEDIA_RESOLUTION_LOW',
        responseMimeType: 'text/x.enum',
        responseSchema: { type: 'STRING', enum: ['a'] },
        thinkingConfig: { thinkingBudget: -1 },
        speechConfig: { multiSpeakerVoiceConfig: { speakerVoiceConfigs: [] } },
      },
    }
    const call = decode(extra)
    assert.deepEqual(call.extensions, { [FORMAT]: extra })
    assert.deepEqual(call.toolChoice, { mode: 'auto' })
    assert.deepEqual(encodeRequest(call, target()), { body: { contents: BODY.contents, ...extra }, warnings: [] })
  })

  it('takes a role in any spelling, and none for the user', () => {
    const roles = ['User', 'MODEL', undefined, 'function', ''].map(
      role => messagesOf({ ...(role !== undefined && { role }), parts: [{ text: 'x' }] })[0]?.role,
    )
    assert.deepEqual(roles, ['user', 'assistant', 'user', 'user', 'user'])
  })

  it('reads media, signatures and what only this format knows', () => {
    const code = { executableCode: { language: 'PYTHON', code: '1' } }
    assert.deepEqual(
      partsOf(
        { text: 'a', thoughtSignature: 's1' },
        { text: 'b', thought: true, thoughtSignature: 's2' },
        { fileData: { mimeType: 'video/mp4', fileUri: 'https://example.com/a.mp4' }, videoMetadata: { fps: 1 } },
        code,
        {},
      ),
      [
        { type: 'text', text: 'a', signature: 's1' },
        { type: 'reasoning', text: 'b', signature: 's2' },
        { type: 'video', source: { kind: 'url', url: 'https://example.com/a.mp4', mediaType: 'video/mp4' } },
        { type: 'opaque', format: FORMAT, value: { videoMetadata: { fps: 1 } } },
        { type: 'opaque', format: FORMAT, value: code },
      ] satisfies Part[],
    )
  })

  it('joins the pieces of a streamed answer, so that the seal of a thought is on the whole', () => {
    const thought = (text: string, thoughtSignature?: string) => ({
      text,
      thought: true,
      ...(thoughtSignature && { thoughtSignature }),
    })
    const chunks = [[thought('One ')], [thought('two'), thought('', 's1')], [thought('three'), { text: 'a' }]]
    assert.deepEqual(messagesOf(...chunks.map(parts => ({ role: 'model', parts }))), [
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', text: 'One two', signature: 's1' },
          { type: 'reasoning', text: 'three' },
          { type: 'text', text: 'a' },
        ],
      },
    ])
  })

  it('gives calls ids by their place, and results those of the calls that they answer, in order', () => {
    const call = (name: string, fields = {}) => ({ functionCall: { name, args: { a: 1 }, ...fields } })
    const result = (name: string, fields = {}) => ({
      functionResponse: { name, response: { output: name }, ...fields },
    })
    const messages = messagesOf(
      { role: 'model', parts: [call('f'), call('g'), call('f'), call('h', { id: 'given' })] },
      { role: 'user', parts: [result('g'), result('f'), result('f'), result('h', { id: 'given' }), { text: 'And?' }] },
      { role: 'model', parts: [call('f')] },
      { role: 'function', parts: [result('f'), result('unknown')] },
    )
    const ids = (message: Message | undefined) =>
      message?.parts.map(part => (part.type === 'tool-call' ? part.id : part.type === 'tool-result' && part.callId))
    assert.deepEqual(
      messages.map(({ role }) => role),
      ['assistant', 'tool', 'user', 'assistant', 'tool'],
    )
    assert.deepEqual(ids(messages[0]), ['call_0', 'call_1', 'call_2', 'given'])
    assert.deepEqual(ids(messages[1]), ['call_1', 'call_0', 'call_2', 'given'])
    assert.deepEqual(ids(messages[3]), ['call_4'])
    assert.deepEqual(ids(messages[4]), ['call_4', 'unknown'])
  })

  it('joins the pieces of a thought that a client of a stream sends back, up to its signature', () => {
    const pieces = [
      { text: 'a', thought: true },
      { text: 'b', thought: true },
      { text: '', thought: true, thoughtSignature: 's' },
      { text: 'c', thought: true },
      { text: 'd' },
      { text: 'e' },
    ]
    const { messages } = decodeRequest({ model: 'm', contents: [{ role: 'model', parts: pieces }] })
    assert.deepEqual(messages[0]?.parts, [
      { type: 'reasoning', text: 'ab', signature: 's' },
      { type: 'reasoning', text: 'c' },
      { type: 'text', text: 'd' },
      { type: 'text', text: 'e' },
    ])
  })

  it('takes the placeholder of a signature for none', () => {
    const wire = { functionCall: { id: 'a', name: 'f' }, thoughtSignature: 'skip_thought_signature_validator' }
    assert.deepEqual(messagesOf({ role: 'model', parts: [wire] })[0]?.parts, [
      { type: 'tool-call', kind: 'function', id: 'a', name: 'f', arguments: '{}' },
    ])
  })

  it('reads what a function answered, in whichever of its forms', () => {
    const resultOf = (fields: Record<string, unknown>) => {
      const part = partsOf({ functionResponse: { id: 'a', name: 'f', ...fields } })[0]
      return part?.type === 'tool-result' ? [part.parts, part.isError] : undefined
    }
    const text = (said: string) => ({ type: 'text', text: said })
    assert.deepEqual(resultOf({ response: { output: 'x' } }), [[text('x')], undefined])
    assert.deepEqual(resultOf({ response: { output: { a: 1 } } }), [[text('{"a":1}')], undefined])
    assert.deepEqual(resultOf({ response: { error: 'No.' } }), [[text('No.')], true])
    assert.deepEqual(resultOf({ response: { temperature: 20 } }), [[text('{"temperature":20}')], undefined])
    assert.deepEqual(resultOf({}), [[], undefined])
    const media = { inlineData: { mimeType: 'image/png', data: 'AAAA' } }
    assert.deepEqual(resultOf({ response: {}, parts: [media], scheduling: 'SILENT' }), [
      [
        { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } },
        { type: 'opaque', format: FORMAT, value: { functionResponse: { scheduling: 'SILENT' } } },
      ],
      undefined,
    ])
  })

  it('reads tools, with schemas in either dialect, and keeps those that are no functions', () => {
    const call = decode({
      tools: [
        {
          functionDeclarations: [
            { name: 'f', description: 'Finds.', parameters: { type: 'OBJECT', properties: { a: { type: 'STRING' } } } },
            { name: 'g', parametersJsonSchema: { type: 'object', additionalProperties: false }, behavior: 'BLOCKING' },
          ],
          googleSearch: {},
        },
      ],
    })
    assert.deepEqual(call.tools, [
      {
        kind: 'function',
        name: 'f',
        description: 'Finds.',
        parameters: { type: 'object', properties: { a: { type: 'string' } } },
      },
      { kind: 'function', name: 'g', parameters: { type: 'object', additionalProperties: false } },
      { kind: 'opaque', format: FORMAT, value: { functionDeclarations: [{ name: 'g', behavior: 'BLOCKING' }] } },
      { kind: 'opaque', format: FORMAT, value: { googleSearch: {} } },
    ])
    const [functions] = encodeRequest(call, target()).body.tools as { functionDeclarations: unknown[] }[]
    assert.deepEqual(functions?.functionDeclarations[1], {
      name: 'g',
      parametersJsonSchema: { type: 'object', additionalProperties: false },
      behavior: 'BLOCKING',
    })
  })

  it('reads every form of tool choice', () => {
    const choices: [string, string[] | undefined, Call['toolChoice']][] = [
      ['AUTO', undefined, { mode: 'auto' }],
      ['none', undefined, { mode: 'none' }],
      ['ANY', [], { mode: 'required' }],
      ['ANY', ['f'], { mode: 'tool', name: 'f' }],
      ['ANY', ['f', 'g'], { mode: 'subset', names: ['f', 'g'], isRequired: true }],
      ['VALIDATED', ['f'], { mode: 'subset', names: ['f'], isRequired: false }],
      ['MODE_UNSPECIFIED', undefined, undefined],
    ]
    for (const [mode, allowedFunctionNames, neutral] of choices) {
      const toolConfig = { functionCallingConfig: { mode, ...(allowedFunctionNames && { allowedFunctionNames }) } }
      assert.deepEqual(decode({ toolConfig }).toolChoice, neutral, mode)
    }
  })

  it('reads every form of output format', () => {
    const json = 'application/json'
    assert.deepEqual(config({ responseMimeType: 'text/plain' }).output, { type: 'text' })
    assert.deepEqual(config({ responseMimeType: json }).output, { type: 'json' })
    for (const schema of [{ responseSchema: { type: 'OBJECT' } }, { responseJsonSchema: { type: 'object' } }]) {
      const call = config({ responseMimeType: json, ...schema })
      assert.deepEqual(call.output, { type: 'json-schema', schema: { type: 'object' } })
      assert.deepEqual(call.extensions, {})
    }
  })

  it('reads how much to think, off included', () => {
    const reasoning = (thinkingConfig: object) => config({ thinkingConfig }).reasoning
    assert.deepEqual(reasoning({ thinkingBudget: 0 }), { effort: 'none' })
    assert.deepEqual(reasoning({ thinkingBudget: 512 }), { budgetTokens: 512 })
    assert.deepEqual(reasoning({ thinkingLevel: 'HIGH' }), { effort: 'high' })
    assert.deepEqual(reasoning({ includeThoughts: false }), { isShown: false })
    assert.equal(reasoning({ thinkingBudget: -1 }), undefined)
  })

  it('names the field that is at fault', () => {
    const octets = { inlineData: { mimeType: 'application/octet-stream', data: 'AAAAAAAA' } }
    const wrong: [Record<string, unknown>, string][] = [
      [{ model: '' }, 'model'],
      [{ contents: [] }, 'contents'],
      [{ contents: 'Hi' }, 'contents'],
      [{ contents: [{ role: 'narrator', parts: [] }] }, 'contents[0].role'],
      [{ contents: [{ role: 'constructor', parts: [] }] }, 'contents[0].role'],
      [{ contents: [{ parts: [{ text: 5 }] }] }, 'contents[0].parts[0].text'],
      [{ contents: [{ parts: [{ inline_data: { mime_type: 'x' } }] }] }, 'contents[0].parts[0].inlineData.data'],
      [{ contents: [{ parts: [{ text: 'x' }, octets] }] }, 'contents[0].parts[1].inlineData'],
      ...['http://a.test/i.png', 'file:///etc/passwd', 'i.png', ''].map(
        (fileUri): [Record<string, unknown>, string] => [
          { contents: [{ parts: [{ file_data: { mime_type: 'image/png', file_uri: fileUri } }] }] },
          'contents[0].parts[0].fileData.fileUri',
        ],
      ),
      [{ generationConfig: { temperature: 3 } }, 'generationConfig.temperature'],
      [{ stream: true, generationConfig: { candidateCount: 2 } }, 'generationConfig.candidateCount'],
      [
        { tools: [{ googleSearch: {} }, { codeExecution: {} }], generationConfig: { responseModalities: ['IMAGE'] } },
        'tools[1]',
      ],
      [{ tools: [{ functionDeclarations: [{}] }] }, 'tools[0].functionDeclarations[0].name'],
    ]
    for (const [fields, param] of wrong) assert.equal(faultOf({ ...BODY, ...fields }).param, param)
  })

  it('takes several candidates where nothing is streamed', () => {
    assert.equal(config({ candidateCount: 2 }).choices, 2)
  })

  it('takes bytes of no type when they show that they are an image', () => {
    const data = Buffer.from('GIF89a\u0001').toString('base64')
    assert.equal(partsOf({ inlineData: { mimeType: 'application/octet-stream', data } })[0]?.type, 'image')
  })
})
