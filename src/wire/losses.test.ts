import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Call, Message, OutputFormat, Part, Tool } from '#core/call.ts'
import { target } from '../../test/support/target.ts'
import type { FormatName } from './format.ts'
import { CHAT_FORMATS } from './formats.ts'

/**
 * Nothing is dropped in silence: each field of the neutral form, set alone, either changes what an upstream is sent or
 * is named in a warning, in every format. The tables have a row for every field that there is, or they do not compile.
 */

type OptionalKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? K : never }[keyof T]
/** Values for every optional field of `T`. */
type Rows<T> = { readonly [K in OptionalKeys<T>]: readonly NonNullable<T[K]>[] }
type PartOf<T extends Part['type']> = Extract<Part, { type: T }>
type ToolOf<K extends Tool['kind']> = Extract<Tool, { kind: K }>
type SchemaOutput = Extract<OutputFormat, { type: 'json-schema' }>

const CALL: Call = {
  model: 'public-model',
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
  isStream: false,
  wantsStreamUsage: false,
  extensions: {},
}
const INLINE = { kind: 'base64', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } }
const TOOLS: Call['tools'] = ['f', 'g'].map(name => ({ kind: 'function', name }))
const IMAGE: Part = { type: 'image', source: INLINE }
const TEXT: Part = { type: 'text', text: 'Yes' }

const EXTENSIONS = [{ elsewhere: { x_field: 1 } }]
const CACHE = [{ ttl: '1h' as const }]
const CITATIONS = [[{ url: 'https://example.com/' }]]

const CALL_ROWS: Rows<Call> = {
  tools: [
    [{ kind: 'function', name: 'f' }],
    [{ kind: 'custom', name: 'f' }],
    [{ kind: 'opaque', format: 'elsewhere', value: { name: 'f' } }],
  ],
  toolChoice: [{ mode: 'none' }, { mode: 'tool', name: 'f' }, { mode: 'subset', names: ['f'], isRequired: true }],
  parallelToolCalls: [false],
  output: [{ type: 'json' }, { type: 'json-schema', schema: SCHEMA }],
  maxOutputTokens: [7],
  temperature: [0.5, 1.5],
  topP: [0.5],
  topK: [5],
  presencePenalty: [1],
  frequencyPenalty: [1],
  seed: [1],
  stop: [['END']],
  choices: [2],
  topLogprobs: [0, 3],
  reasoning: [{ effort: 'high' }, { effort: 'none' }, { budgetTokens: 2048 }, { isShown: true }],
  verbosity: ['low'],
  modalities: [['audio']],
  audioOutput: [{ voice: 'a', format: 'wav' }],
  translation: [{ targetLanguage: 'French' }],
  cacheKey: ['k'],
  endUser: ['u'],
  metadata: [{ a: 'b' }],
  serviceTier: ['flex', 'auto'],
}

const MESSAGE_ROWS: Rows<Message> = { name: ['Ann'] }

const OUTPUT_ROWS: Rows<SchemaOutput> = { name: ['n'], description: ['d'], strict: [true] }

const TOOL_ROWS: { readonly [K in 'function' | 'custom']: Rows<ToolOf<K>> } = {
  function: { description: ['d'], parameters: [SCHEMA], strict: [true], cache: CACHE, extensions: EXTENSIONS },
  custom: {
    description: ['d'],
    grammar: [{ syntax: 'lark', definition: 'start: "a"' }],
    cache: CACHE,
    extensions: EXTENSIONS,
  },
}

const PART_ROWS: { readonly [T in Part['type']]: Rows<PartOf<T>> } = {
  text: { citations: CITATIONS, cache: CACHE, signature: ['s'], extensions: EXTENSIONS },
  refusal: { extensions: EXTENSIONS },
  image: { detail: ['low'], cache: CACHE, extensions: EXTENSIONS },
  audio: { format: ['mp3'], transcript: ['Yes'], extensions: EXTENSIONS },
  video: { extensions: EXTENSIONS },
  document: { filename: ['a.png'], cache: CACHE, extensions: EXTENSIONS },
  reasoning: { signature: ['s'], encrypted: ['e'], extensions: EXTENSIONS },
  'tool-call': { signature: ['s'], cache: CACHE, extensions: EXTENSIONS },
  'tool-result': { name: ['f'], isError: [true], cache: CACHE, extensions: EXTENSIONS },
  opaque: {},
}

/** Parts as they are without their optional fields, and the kinds of source that media may have. */
const PARTS: { readonly [T in Part['type']]: PartOf<T> } = {
  text: { type: 'text', text: 'Yes' },
  refusal: { type: 'refusal', text: 'No' },
  image: { type: 'image', source: INLINE },
  audio: { type: 'audio', source: { kind: 'base64', mediaType: undefined, data: 'AAAA' } },
  video: { type: 'video', source: INLINE },
  document: { type: 'document', source: INLINE },
  reasoning: { type: 'reasoning', text: 'Hm' },
  'tool-call': { type: 'tool-call', kind: 'function', id: 'c', name: 'f', arguments: '{}' },
  'tool-result': { type: 'tool-result', callId: 'c', parts: [] },
  opaque: { type: 'opaque', format: 'elsewhere', value: {} },
}

const SOURCES: readonly Extract<Part, { source: unknown }>['source'][] = [
  { ...INLINE, data: 'iVBORw0KGgp=' },
  { kind: 'url', url: 'https://example.com/a.png' },
  { kind: 'file', id: 'file-1' },
]

/** What needs neither a word nor a warning, and why. */
const MEANS_NOTHING: Readonly<Record<string, { readonly reason: string; readonly formats: readonly FormatName[] }>> = {
  'json-schema.name': { reason: 'a label that no model reads', formats: ['messages', 'generate-content'] },
  'json-schema.strict': { reason: 'schemas are always strict', formats: ['messages'] },
  'audio.transcript': { reason: 'the sound says it', formats: ['chat-completions', 'responses', 'generate-content'] },
  'tool-result.name': { reason: 'the call says it', formats: ['messages', 'responses', 'generate-content'] },
}

/** One field of one owner: a call without it, and with it. */
interface Case {
  readonly field: string
  readonly without: Call
  readonly with: Call
}

function casesOf<T extends object>(kind: string, owner: T, rows: Rows<T>, wrap: (owner: T) => Call): Case[] {
  return Object.entries<readonly unknown[]>(rows).flatMap(([field, values]) =>
    values.map(value => ({
      field: `${kind}.${field}`,
      without: wrap(owner),
      with: wrap({ ...owner, [field]: value }),
    })),
  )
}

const saying = (part: Part): Call => {
  const role = part.type === 'tool-result' ? 'tool' : SAID.has(part.type) ? 'assistant' : 'user'
  const call: Message = { role: 'assistant', parts: [PARTS['tool-call']] }
  return { ...CALL, messages: [...CALL.messages, ...(role === 'tool' ? [call] : []), { role, parts: [TEXT, part] }] }
}
const SAID: ReadonlySet<Part['type']> = new Set(['refusal', 'reasoning', 'tool-call'])

/** What tools return no model has sealed. */
const NEVER_IN_RESULTS = { signature: [] }

const resulting = (part: Part): Call => saying({ ...PARTS['tool-result'], parts: [part] })

const CASES: readonly Case[] = [
  ...casesOf<Call>('call', { ...CALL, tools: TOOLS }, CALL_ROWS, call => call),
  ...casesOf<Message>('message', { role: 'user', parts: [TEXT] }, MESSAGE_ROWS, message => ({
    ...CALL,
    messages: [...CALL.messages, message],
  })),
  ...casesOf<SchemaOutput>('json-schema', { type: 'json-schema', schema: SCHEMA }, OUTPUT_ROWS, output => ({
    ...CALL,
    output,
  })),
  ...casesOf<ToolOf<'function'>>('function', { kind: 'function', name: 'f' }, TOOL_ROWS.function, ofTool),
  ...casesOf<ToolOf<'custom'>>('custom', { kind: 'custom', name: 'f' }, TOOL_ROWS.custom, ofTool),
  ...Object.values(PARTS).flatMap(part => [
    { field: part.type, without: CALL, with: saying(part) },
    ...casesOf<Part>(part.type, part, PART_ROWS[part.type] as Rows<Part>, saying),
  ]),
  // Inside of results there are other encoders at work.
  ...[TEXT, IMAGE, PARTS.document, PARTS.audio, PARTS.video, PARTS.opaque].flatMap(part => [
    { field: part.type, without: saying(PARTS['tool-result']), with: resulting(part) },
    ...casesOf<Part>(part.type, part, { ...PART_ROWS[part.type], ...NEVER_IN_RESULTS } as Rows<Part>, resulting),
  ]),
  ...[PARTS.image, PARTS.audio, PARTS.video, PARTS.document].flatMap(part =>
    SOURCES.map(source => ({ field: `${part.type}.source`, without: saying(part), with: saying({ ...part, source }) })),
  ),
  { field: 'call.extensions', without: CALL, with: { ...CALL, extensions: { elsewhere: { x_field: 1 } } } },
]

function ofTool(tool: Tool): Call {
  return { ...CALL, tools: [tool] }
}

describe('a request to another format', () => {
  for (const format of CHAT_FORMATS.values()) {
    it(`says every field to ${format.name}, or that it cannot`, () => {
      const encode = (call: Call) => {
        const { body, warnings } = format.encodeRequest(call, target({ format: format.name }))
        return { body: JSON.stringify(body), warnings }
      }
      const silent = CASES.filter(({ without, with: full }) => {
        const { body, warnings } = encode(full)
        return body === encode(without).body && warnings.length === 0
      })
      const excused = Object.entries(MEANS_NOTHING).filter(([, { formats }]) => formats.includes(format.name))
      assert.deepEqual(new Set(silent.map(({ field }) => field)), new Set(excused.map(([field]) => field)))
    })
  }
})
