import fc from 'fast-check'
import type { Call, Extended, Message, OutputFormat, Part, Source, Tool, ToolChoice } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import type { Choice, Finish, Result } from '#core/result.ts'
import type { Usage } from '#core/usage.ts'
import { anyCitations, anyLogprobs, anyToolCall, anyUsage } from './arbitrary-answer.ts'
import { jsonValue } from './arbitrary-json.ts'
import { cutPlaces, cutText } from './cut.ts'

/**
 * Calls and answers that responses can carry. What the format cannot tell apart is generated in the one form that comes
 * back:
 *
 * - messages of the assistant that follow each other stand in one, and so do those of tools, since each of their parts
 *   is an item of its own;
 * - an assistant says text and refusals; media stand in what is said to it;
 * - a thought without words is sealed;
 * - audio is base64 with the media type that its format implies; a data URL is always base64, any other URL never;
 * - a tool without a description has no empty one, a list of tools is never empty, an output schema has a name;
 * - a stream always brings its usage;
 * - a call has extensions of the format, if empty ones: a call without them came from another format;
 * - an answer has one choice, cached and reasoning tokens beside its totals, and the fields that every response has;
 * - log probabilities belong to a text, and a call of tools is the only other end of a completed answer.
 */

const FORMAT = 'responses'

const text = fc.string({ unit: 'grapheme', maxLength: 20 })
const someText = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
const name = fc.stringMatching(/^[A-Za-z0-9-]{1,12}$/)
const data = fc.base64String({ maxLength: 16 })
const object = fc.dictionary(name, jsonValue, { maxKeys: 3 })
const optionally = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 3 })

const inlined: fc.Arbitrary<Source> = fc.record({
  kind: fc.constant('base64' as const),
  mediaType: fc.constantFrom('image/png', 'application/pdf', undefined),
  data,
})
const linked: fc.Arbitrary<Source> = fc.record({ kind: fc.constant('url' as const), url: fc.webUrl() })
const stored: fc.Arbitrary<Source> = fc.record({ kind: fc.constant('file' as const), id: someText })

/** A part that knows more than the neutral form has words for. */
function extended<T extends object>(part: fc.Arbitrary<T>, fields: fc.Arbitrary<object>): fc.Arbitrary<T & Extended> {
  return fc
    .tuple(part, optionally(fields))
    .map(([each, own]) => (own ? { ...each, extensions: { [FORMAT]: { ...own } } } : each))
}

const opaque = (...types: string[]): fc.Arbitrary<Part> =>
  fc
    .tuple(fc.constantFrom(...types), object)
    .map(([type, fields]) => ({ type: 'opaque', format: FORMAT, value: { ...fields, type } }))

const textPart: fc.Arbitrary<Part> = extended(
  fc.record({ type: fc.constant('text' as const), text }),
  fc.record({ x_breakpoint: fc.boolean() }),
)

const contentPart: fc.Arbitrary<Part> = fc.oneof(
  { weight: 4, arbitrary: textPart },
  fc.record(
    {
      type: fc.constant('image' as const),
      source: fc.oneof(inlined, linked, stored),
      detail: fc.constantFrom('auto', 'low', 'high'),
    },
    { requiredKeys: ['type', 'source'] },
  ),
  extended(
    fc.record(
      { type: fc.constant('document' as const), source: fc.oneof(inlined, linked, stored), filename: text },
      { requiredKeys: ['type', 'source'] },
    ),
    fc.record({ detail: fc.constant('high') }),
  ),
  fc.tuple(fc.constantFrom('wav', 'mp3'), data).map(
    ([format, bytes]): Part => ({
      type: 'audio',
      source: { kind: 'base64', mediaType: `audio/${format}`, data: bytes },
      format,
    }),
  ),
  opaque('x_unheard_of', 'computer_screenshot'),
)

const itemFields = fc.record({ phase: fc.constantFrom('commentary', 'final_answer') }).map(item => ({ item }))
const annotation = fc.record({ type: fc.constant('file_citation'), file_id: name, index: fc.nat() })

const spoken: fc.Arbitrary<Part> = fc.oneof(
  extended(
    fc.record(
      { type: fc.constant('text' as const), text, citations: anyCitations },
      { requiredKeys: ['type', 'text'] },
    ),
    fc.oneof(itemFields, fc.record({ annotations: fc.array(annotation, { minLength: 1, maxLength: 2 }) })),
  ),
  extended(fc.record({ type: fc.constant('refusal' as const), text }), itemFields),
)

const sealed: fc.Arbitrary<Part> = extended(
  fc.oneof(
    fc.record({ type: fc.constant('reasoning' as const), text: someText }),
    fc.record({ type: fc.constant('reasoning' as const), text, encrypted: someText }),
  ),
  fc.record({ x_more: name }),
)

const calling: fc.Arbitrary<Part> = extended(anyToolCall, fc.record({ namespace: name }))

const assistantPart = fc.oneof(spoken, sealed, calling, opaque('web_search_call', 'item_reference', 'compaction'))

const toolResult: fc.Arbitrary<Part> = fc.record({
  type: fc.constant('tool-result' as const),
  callId: name,
  parts: fc.array(contentPart, { maxLength: 3 }),
})

/** The result of a custom tool's call that the upstream has stored. */
const strayResult: fc.Arbitrary<Part> = fc.record({
  type: fc.constant('tool-result' as const),
  callId: name.map(each => `stray ${each}`),
  parts: fc.array(textPart, { maxLength: 1 }),
  extensions: fc.constant({ [FORMAT]: { type: 'custom_tool_call_output' } }),
})

const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({
    role: fc.constantFrom('system' as const, 'developer' as const, 'user' as const),
    parts: fc.array(contentPart, { maxLength: 4 }),
  }),
  fc.record({ role: fc.constant('assistant' as const), parts: fc.array(assistantPart, { maxLength: 5 }) }),
  fc.record({
    role: fc.constant('tool' as const),
    parts: fc.array(fc.oneof(toolResult, strayResult, opaque('computer_call_output')), { minLength: 1, maxLength: 3 }),
  }),
)

function joinMessages(messages: readonly Message[]): Message[] {
  const joined: Message[] = []
  for (const each of messages) {
    const last = joined.at(-1)
    if (last?.role === each.role && (each.role === 'tool' || each.role === 'assistant')) {
      joined.splice(-1, 1, { role: each.role, parts: [...last.parts, ...each.parts] })
    } else joined.push(each)
  }
  return joined
}

const tool: fc.Arbitrary<Tool> = fc.oneof(
  extended(
    fc.record(
      { kind: fc.constant('function' as const), name, description: someText, parameters: object, strict: fc.boolean() },
      { requiredKeys: ['kind', 'name'] },
    ),
    fc.record({ defer_loading: fc.boolean() }),
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
  fc.tuple(name, object).map(
    ([each, fields]): Tool => ({
      kind: 'opaque',
      format: FORMAT,
      value: { ...fields, type: 'web_search', name: each },
    }),
  ),
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

const decimal = (max: number) => fc.integer({ min: 0, max: max * 100 }).map(value => value / 100)

const ownFields = fc.record(
  {
    include: fc.constant(['file_search_call.results']),
    reasoning: fc.record({ summary: fc.constantFrom('concise', 'detailed') }),
    text: fc.record({ x_style: name }),
    truncation: fc.constant('auto'),
    x_field: jsonValue.filter(value => value !== null),
  },
  { requiredKeys: [] },
)

export const anyResponsesCall: fc.Arbitrary<Call> = fc
  .record(
    {
      model: name,
      // A body without any input is refused.
      messages: fc.array(message, { minLength: 1, maxLength: 5 }).map(joinMessages),
      tools: fc.array(tool, { minLength: 1, maxLength: 3 }),
      toolChoice,
      parallelToolCalls: fc.boolean(),
      output,
      maxOutputTokens: fc.integer({ min: 1 }),
      temperature: decimal(2),
      topP: decimal(1),
      topLogprobs: fc.integer({ min: 0, max: 20 }),
      reasoning: fc.record(
        {
          effort: fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
          isShown: fc.constant(true),
        },
        { requiredKeys: ['effort'] },
      ),
      verbosity: fc.constantFrom('low', 'medium', 'high'),
      cacheKey: text,
      endUser: text,
      metadata: fc.dictionary(name, text, { maxKeys: 3 }),
      serviceTier: fc.constantFrom('auto', 'flex', 'priority'),
      isStream: fc.boolean(),
      extensions: ownFields.map(fields => ({ [FORMAT]: { ...fields } })),
    },
    { requiredKeys: ['model', 'messages', 'isStream', 'extensions'] },
  )
  .map(each => {
    // A summary of whatever kind is shown.
    const isShown = each.extensions[FORMAT]?.reasoning !== undefined
    const reasoning = isShown ? { reasoning: { ...each.reasoning, isShown } } : {}
    return { ...each, ...reasoning, wantsStreamUsage: each.isStream }
  })

export const anyResponsesUsage: fc.Arbitrary<Usage> = fc
  .tuple(anyUsage, fc.nat(), fc.nat())
  .map(([usage, cacheReadTokens, reasoningTokens]) => ({ ...usage, cacheReadTokens, reasoningTokens }))

function anyEnding(callsTools: boolean): fc.Arbitrary<Finish> {
  return fc.constantFrom<Finish>(
    { reason: callsTools ? 'tool-calls' : 'stop', raw: 'completed' },
    { reason: 'length', raw: 'max_output_tokens' },
    { reason: 'refusal', raw: 'content_filter' },
  )
}

const someLogprobs = anyLogprobs.filter(each => each.length > 0)

const choice: fc.Arbitrary<Choice> = fc
  .array(assistantPart, { maxLength: 5 })
  .chain(parts =>
    fc.tuple(
      fc.constant(parts),
      anyEnding(parts.some(part => part.type === 'tool-call')),
      parts.some(part => part.type === 'text') ? optionally(someLogprobs) : fc.constant(undefined),
    ),
  )
  .map(([parts, finish, logprobs]) => ({ index: 0, parts, finish, ...(logprobs && { logprobs }) }))

export const anyResponsesResult: fc.Arbitrary<Result> = fc.record(
  {
    id: fc.string(),
    model: fc.string(),
    createdAt: fc.nat(),
    choices: choice.map(each => [each]),
    usage: optionally(anyResponsesUsage),
    serviceTier: name,
    extensions: object.map(fields => {
      const known = Object.entries(fields).filter(([, value]) => value !== null)
      const more = Object.fromEntries(known.map(([key, value]) => [`x_${key}`, value]))
      return { [FORMAT]: { metadata: {}, parallel_tool_calls: true, tool_choice: 'auto', tools: [], ...more } }
    }),
  },
  { requiredKeys: ['id', 'model', 'createdAt', 'choices', 'usage', 'extensions'] },
)

const streamedPart: fc.Arbitrary<CallEvent[]> = fc.oneof(
  fc
    .record({
      kind: fc.constantFrom('text' as const, 'refusal' as const, 'reasoning' as const),
      fragments: fc.array(fc.tuple(someText, optionally(someLogprobs)), { maxLength: 3 }),
      citations: optionally(anyCitations),
      seal: fc.oneof(fc.record({ encrypted: someText }), fc.constant({})),
    })
    .map(({ kind, fragments, citations, seal }): CallEvent[] => {
      const at = { choice: 0, part: 0 }
      const deltas = fragments.map(
        ([each, logprobs]): CallEvent => ({
          type: 'part-delta',
          ...at,
          text: each,
          ...(kind === 'text' && logprobs && { logprobs }),
        }),
      )
      const said = kind === 'text' && citations ? { citations } : {}
      const end: CallEvent = { type: 'part-end', ...at, ...said, ...(kind === 'reasoning' && seal) }
      return [{ type: 'part-start', ...at, kind }, ...deltas, end]
    }),
  fc.record({ call: anyToolCall, places: cutPlaces }).map(({ call, places }): CallEvent[] => {
    const at = { choice: 0, part: 0 }
    const { id, name: called, kind: toolKind } = call
    return [
      { type: 'part-start', ...at, kind: 'tool-call', id, name: called, toolKind },
      ...cutText(call.arguments, places).map((each): CallEvent => ({ type: 'part-delta', ...at, text: each })),
      { type: 'part-end', ...at },
    ]
  }),
  object.map((fields): CallEvent[] => [
    {
      type: 'part-start',
      choice: 0,
      part: 0,
      kind: 'whole',
      value: { type: 'opaque', format: FORMAT, value: { ...fields, type: 'web_search_call' } },
    },
    { type: 'part-end', choice: 0, part: 0 },
  ]),
)

/** Grammatical event sequences that end well, with no empty fragments. */
export const anyResponsesEvents: fc.Arbitrary<CallEvent[]> = fc
  .record({
    head: fc.record({ id: fc.string(), model: fc.string(), createdAt: fc.nat() }),
    parts: fc.array(streamedPart, { maxLength: 5 }),
    usage: optionally(anyResponsesUsage),
  })
  .chain(each => {
    const parts = each.parts.map((events, part) => events.map((event): CallEvent => ({ ...event, part }) as CallEvent))
    const callsTools = parts.flat().some(event => event.type === 'part-start' && event.kind === 'tool-call')
    return anyEnding(callsTools).map((finish): CallEvent[] => [
      { type: 'response-start', ...each.head },
      ...parts.flat(),
      ...(each.usage ? [{ type: 'usage' as const, usage: each.usage }] : []),
      { type: 'choice-end', choice: 0, finish },
      { type: 'response-end' },
    ])
  })
