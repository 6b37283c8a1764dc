import fc from 'fast-check'
import type { Call, Message, OutputFormat, Part, ReasoningPart, Source, Tool, ToolChoice } from '#core/call.ts'
import { jsonValue } from './arbitrary-json.ts'

/**
 * Calls that chat-completions can carry. What it cannot tell apart is generated in the one form that comes back:
 *
 * - an assistant's reasoning is one part at the front, its refusal one part before its tool calls, since each is one
 *   field of the message; both are left out when empty, and so is what it said;
 * - results of tools that follow each other stand in one message, since each result is a message of its own;
 * - audio is base64 with the media type that its format implies; a data URL is always base64, any other URL never;
 * - a tool without a description has no empty one, a list of tools is never empty, an output schema has a name;
 * - speech is asked for together with its voice;
 * - a stream always asks for usage, which is what the gateway asks upstreams for.
 */

export const FORMAT = 'chat-completions'

const text = fc.string({ unit: 'grapheme', maxLength: 20 })
const someText = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
const name = fc.stringMatching(/^[A-Za-z0-9-]{1,12}$/)
const data = fc.base64String({ maxLength: 16 })
const webUrl = fc.webUrl()
const object = fc.dictionary(name, jsonValue, { maxKeys: 3 }).map(each => ({ ...each }))

const inlined: fc.Arbitrary<Source> = fc.record({
  kind: fc.constant('base64' as const),
  mediaType: fc.constantFrom('image/png', 'video/mp4', 'application/pdf', undefined),
  data,
})
const linked: fc.Arbitrary<Source> = fc.record({ kind: fc.constant('url' as const), url: webUrl })
const stored: fc.Arbitrary<Source> = fc.record({ kind: fc.constant('file' as const), id: someText })

const textPart: fc.Arbitrary<Part> = fc.record({ type: fc.constant('text' as const), text })

const opaquePart: fc.Arbitrary<Part> = fc
  .tuple(fc.constantFrom('thinking', 'container', 'x_unheard_of'), object)
  .map(([type, fields]) => ({ type: 'opaque', format: FORMAT, value: { ...fields, type } }))

const audioPart: fc.Arbitrary<Part> = fc.tuple(fc.constantFrom('wav', 'mp3'), data).map(([format, bytes]) => ({
  type: 'audio',
  source: { kind: 'base64', mediaType: `audio/${format}`, data: bytes },
  format,
}))

const contentPart: fc.Arbitrary<Part> = fc.oneof(
  { weight: 4, arbitrary: textPart },
  fc.record(
    {
      type: fc.constant('image' as const),
      source: fc.oneof(inlined, linked),
      detail: fc.constantFrom('auto', 'low', 'high'),
    },
    { requiredKeys: ['type', 'source'] },
  ),
  fc.record({ type: fc.constant('video' as const), source: fc.oneof(inlined, linked) }),
  audioPart,
  fc.record(
    { type: fc.constant('document' as const), source: fc.oneof(inlined, linked, stored), filename: text },
    { requiredKeys: ['type', 'source'] },
  ),
  opaquePart,
)

const toolCall: fc.Arbitrary<Part> = fc.record(
  {
    type: fc.constant('tool-call' as const),
    kind: fc.constantFrom('function' as const, 'custom' as const),
    id: someText,
    name,
    arguments: fc.oneof(
      text,
      jsonValue.map(value => JSON.stringify(value)),
    ),
    signature: name,
  },
  { requiredKeys: ['type', 'kind', 'id', 'name', 'arguments'] },
)

const toolResult: fc.Arbitrary<Part> = fc.record(
  {
    type: fc.constant('tool-result' as const),
    callId: someText,
    parts: fc.array(fc.oneof(textPart, opaquePart), { maxLength: 3 }),
    name,
  },
  { requiredKeys: ['type', 'callId', 'parts'] },
)

const optionally = <T>(part: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(part, { maxLength: 1 })

const plainThought = fc.record({ type: fc.constant('reasoning' as const), text: someText })
const hostFields = fc.record({ id: name, format: name }, { requiredKeys: [] })

function fieldsOf(fields: Record<string, unknown>): Pick<ReasoningPart, 'extensions'> {
  return Object.keys(fields).length === 0 ? {} : { extensions: { [FORMAT]: { ...fields } } }
}

const sealedThought: fc.Arbitrary<ReasoningPart> = fc.oneof(
  fc
    .record({ text, signature: name, fields: hostFields })
    .map(({ fields, ...seal }): ReasoningPart => ({ type: 'reasoning', ...seal, ...fieldsOf(fields) })),
  fc
    .record({ encrypted: name, fields: hostFields })
    .map(({ fields, encrypted }): ReasoningPart => ({ type: 'reasoning', text: '', encrypted, ...fieldsOf(fields) })),
)
const summary: fc.Arbitrary<ReasoningPart> = fc
  .record({ text: someText, fields: hostFields })
  .map(({ text, fields }) => ({ type: 'reasoning', text, ...fieldsOf({ ...fields, type: 'reasoning.summary' }) }))

/** In words alone, which are one field of a message, or with seals, which stand in entries beside those words. */
export const thoughts: fc.Arbitrary<ReasoningPart[]> = fc.oneof(
  fc.array(plainThought, { maxLength: 1 }),
  fc
    .tuple(fc.array(fc.oneof(sealedThought, summary, plainThought), { maxLength: 2 }), sealedThought)
    .map(([others, sealed]) => [...others, sealed]),
)
const refusalPart: fc.Arbitrary<Part> = fc.record({ type: fc.constant('refusal' as const), text: someText })

function isNoEmptyText(part: Part): boolean {
  return part.type !== 'text' || part.text !== ''
}

const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record(
    {
      role: fc.constantFrom('system' as const, 'developer' as const, 'user' as const),
      parts: fc.array(contentPart, { maxLength: 4 }),
      name,
    },
    { requiredKeys: ['role', 'parts'] },
  ),
  fc.record(
    {
      role: fc.constant('assistant' as const),
      parts: fc
        .tuple(
          thoughts,
          fc.array(contentPart.filter(isNoEmptyText), { maxLength: 2 }),
          optionally(refusalPart),
          fc.array(toolCall, { maxLength: 3 }),
        )
        .map(parts => parts.flat()),
      name,
    },
    { requiredKeys: ['role', 'parts'] },
  ),
  fc.record({ role: fc.constant('tool' as const), parts: fc.array(toolResult, { minLength: 1, maxLength: 3 }) }),
)

function joinToolMessages(messages: readonly Message[]): Message[] {
  const joined: Message[] = []
  for (const each of messages) {
    const last = joined.at(-1)
    if (last?.role === 'tool' && each.role === 'tool') {
      joined.splice(-1, 1, { role: 'tool', parts: [...last.parts, ...each.parts] })
    } else joined.push(each)
  }
  return joined
}

const tool: fc.Arbitrary<Tool> = fc.oneof(
  fc.record(
    {
      kind: fc.constant('function' as const),
      name,
      description: someText,
      parameters: object,
      strict: fc.boolean(),
    },
    { requiredKeys: ['kind', 'name'] },
  ),
  fc.record(
    {
      kind: fc.constant('custom' as const),
      name,
      description: someText,
      grammar: fc.record({ syntax: fc.constantFrom('lark', 'regex'), definition: someText }),
    },
    { requiredKeys: ['kind', 'name'] },
  ),
  object.map((fields): Tool => ({ kind: 'opaque', format: FORMAT, value: { ...fields, type: 'web_search' } })),
)

const toolChoice: fc.Arbitrary<ToolChoice> = fc.oneof(
  fc.record({ mode: fc.constantFrom('auto' as const, 'none' as const, 'required' as const) }),
  fc.record({ mode: fc.constant('tool' as const), name }),
  fc.record({
    mode: fc.constant('subset' as const),
    names: fc.array(name, { maxLength: 3 }),
    isRequired: fc.boolean(),
  }),
)

const output: fc.Arbitrary<OutputFormat> = fc.oneof(
  fc.record({ type: fc.constantFrom('text' as const, 'json' as const) }),
  fc.record(
    { type: fc.constant('json-schema' as const), name, schema: object, description: someText, strict: fc.boolean() },
    { requiredKeys: ['type', 'name', 'schema'] },
  ),
)

/** Between `min` and `max`, as a request would write it. */
const decimal = (min: number, max: number) =>
  fc.integer({ min: min * 100, max: max * 100 }).map(value => value / 100 || 0)

/** Fields that the neutral form has no word for. */
export const extensions: fc.Arbitrary<Call['extensions']> = fc
  .dictionary(
    name.map(each => `x_${each}`),
    jsonValue.filter(value => value !== null),
    { maxKeys: 3 },
  )
  .map((fields): Call['extensions'] => (Object.keys(fields).length === 0 ? {} : { [FORMAT]: { ...fields } }))

export const call: fc.Arbitrary<Call> = fc
  .record(
    {
      model: name,
      messages: fc.array(message, { minLength: 1, maxLength: 5 }).map(joinToolMessages),
      tools: fc.array(tool, { minLength: 1, maxLength: 3 }),
      toolChoice,
      parallelToolCalls: fc.boolean(),
      output,
      maxOutputTokens: fc.integer({ min: 1 }),
      temperature: decimal(0, 2),
      topP: decimal(0, 1),
      presencePenalty: decimal(-2, 2),
      frequencyPenalty: decimal(-2, 2),
      seed: fc.integer(),
      stop: fc.array(text, { maxLength: 4 }),
      choices: fc.integer({ min: 1, max: 128 }),
      topLogprobs: fc.integer({ min: 0, max: 20 }),
      reasoning: fc.record({ effort: fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max') }),
      verbosity: fc.constantFrom('low', 'medium', 'high'),
      modalities: fc.array(fc.constantFrom('text', 'audio'), { maxLength: 2 }),
      audioOutput: fc.record({
        voice: fc.oneof(name, fc.record({ id: name })),
        format: fc.constantFrom('wav', 'pcm16'),
      }),
      translation: fc.record(
        { sourceLanguage: someText, targetLanguage: someText },
        { requiredKeys: ['targetLanguage'] },
      ),
      cacheKey: text,
      endUser: text,
      metadata: fc.dictionary(name, text, { maxKeys: 3 }).map(each => ({ ...each })),
      serviceTier: fc.constantFrom('auto', 'flex', 'priority'),
      isStream: fc.boolean(),
      extensions,
    },
    { requiredKeys: ['model', 'messages', 'isStream', 'extensions'] },
  )
  .map(each => ({ ...each, wantsStreamUsage: each.isStream }))
  .filter(({ modalities, audioOutput }) => !modalities?.includes('audio') || audioOutput !== undefined)
