import fc from 'fast-check'
import type { CacheBreakpoint, Call, Message, OutputFormat, Part, Source, Tool } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import type { Finish, Result } from '#core/result.ts'
import type { Usage } from '#core/usage.ts'
import { jsonValue } from './arbitrary-json.ts'
import { cutText } from './cut.ts'

/**
 * Calls and answers that the messages format can carry. What it cannot tell apart, or refuses, is generated in the one
 * form that comes back:
 *
 * - the one system message stands first; users and assistants take turns, the user first; results stand in a tool
 *   message right after the calls that they belong to, all of them, before what the user says;
 * - no text is blank or ends with white space, no message is empty; arguments are one JSON object as JSON prints it;
 * - a request's thoughts are sealed, one before each turn's calls; beside thinking no sampling is set, and no words of
 *   an answer are there to go on with;
 * - tools are there when tools are called or chosen, a choice is there when parallel calls are spoken of, schemas are
 *   those of objects; an output schema has no name, since the format has no place for one;
 * - an answer has one choice, no date, and a stop reason that says whether tools are called; its usage is known, its
 *   total is not the provider's, and cached tokens are part of its input.
 */

type Json = Record<string, unknown>

export const FORMAT = 'messages'

const text = fc.string({ unit: 'grapheme', maxLength: 20 }).map(each => `${each}.`)
const name = fc.stringMatching(/^[A-Za-z0-9-]{1,12}$/)
const data = fc.base64String({ maxLength: 16 })
const object = fc.dictionary(name, jsonValue, { maxKeys: 3 }).map(each => ({ ...each }))
const optionally = <T>(part: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(part, { maxLength: 1 })

const cache: fc.Arbitrary<CacheBreakpoint> = fc.constantFrom({}, { ttl: '5m' as const }, { ttl: '1h' as const })
/** Fields that the neutral form has no word for. */
const extensions = fc
  .dictionary(
    name.map(each => `x_${each}`),
    jsonValue.filter(value => value !== null),
    { minKeys: 1, maxKeys: 2 },
  )
  .map(fields => ({ [FORMAT]: { ...fields } }))
const extras = { cache, extensions }

const inlined = (...types: string[]): fc.Arbitrary<Source> =>
  fc.record({ kind: fc.constant('base64' as const), mediaType: fc.constantFrom(...types), data })
const linked: fc.Arbitrary<Source> = fc.record({ kind: fc.constant('url' as const), url: fc.webUrl() })
const stored: fc.Arbitrary<Source> = fc.record({ kind: fc.constant('file' as const), id: name })
const plainText: fc.Arbitrary<Source> = text.map(each => ({
  kind: 'base64',
  mediaType: 'text/plain',
  data: Buffer.from(each.toWellFormed()).toString('base64'),
}))

const textPart: fc.Arbitrary<Part> = fc.record(
  { type: fc.constant('text' as const), text, ...extras },
  { requiredKeys: ['type', 'text'] },
)

const opaquePart: fc.Arbitrary<Part> = fc
  .tuple(fc.constantFrom('server_tool_use', 'web_search_tool_result', 'container_upload', 'x_unheard_of'), object)
  .map(([type, fields]) => ({ type: 'opaque', format: FORMAT, value: { ...fields, type } }))

const contentPart: fc.Arbitrary<Part> = fc.oneof(
  { weight: 4, arbitrary: textPart },
  fc.record(
    {
      type: fc.constant('image' as const),
      source: fc.oneof(inlined('image/png', 'image/jpeg', 'image/gif', 'image/webp'), linked, stored),
      ...extras,
    },
    { requiredKeys: ['type', 'source'] },
  ),
  fc.record(
    {
      type: fc.constant('document' as const),
      source: fc.oneof(inlined('application/pdf'), plainText, linked, stored),
      filename: text,
      ...extras,
    },
    { requiredKeys: ['type', 'source'] },
  ),
  opaquePart,
)

const sealedThought: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ type: fc.constant('reasoning' as const), text: fc.oneof(text, fc.constant('')), signature: name }),
  fc.record({ type: fc.constant('reasoning' as const), text: fc.constant(''), encrypted: name }),
)

type ToolCall = Extract<Part, { type: 'tool-call' }>

const toolCall: fc.Arbitrary<ToolCall> = fc.record(
  {
    type: fc.constant('tool-call' as const),
    kind: fc.constant('function' as const),
    id: fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/),
    name,
    arguments: object.map(each => JSON.stringify(JSON.parse(JSON.stringify(each)))),
    ...extras,
  },
  { requiredKeys: ['type', 'kind', 'id', 'name', 'arguments'] },
)

const result = fc.record(
  { parts: fc.array(contentPart, { maxLength: 2 }), isError: fc.boolean(), ...extras },
  { requiredKeys: ['parts'] },
)

const round = fc.record({
  asked: fc.array(contentPart, { minLength: 1, maxLength: 3 }),
  thought: sealedThought,
  said: fc.array(fc.oneof(textPart, opaquePart), { minLength: 1, maxLength: 2 }),
  calls: fc.array(fc.tuple(toolCall, result), { maxLength: 3 }),
  isAsked: fc.boolean(),
})

/** Rounds of a user's turn and the assistant's, and of tools in between. */
const conversation: fc.Arbitrary<Message[]> = fc
  .tuple(
    optionally(fc.array(textPart, { minLength: 1, maxLength: 3 })),
    fc.array(round, { minLength: 1, maxLength: 3 }),
    fc.boolean(),
  )
  .map(([system, rounds, endsWithUser]) => {
    const messages: Message[] = system.map(parts => ({ role: 'system', parts }))
    let number = 0
    for (const { asked, thought, said, calls, isAsked } of rounds) {
      const previous = messages.at(-1)?.role
      if (previous !== 'tool' || isAsked) messages.push({ role: 'user', parts: asked })
      const named = calls.map(([call, given]) => ({ call: { ...call, id: `${call.id}_${number++}` }, given }))
      messages.push({ role: 'assistant', parts: [thought, ...said, ...named.map(({ call }) => call)] })
      if (named.length === 0) continue
      const parts = named.map(({ call, given }): Part => ({ type: 'tool-result', callId: call.id, ...given }))
      messages.push({ role: 'tool', parts })
    }
    if (endsWithUser) messages.push({ role: 'user', parts: [{ type: 'text', text: 'And?' }] })
    return messages
  })

const tool: fc.Arbitrary<Tool> = fc.oneof(
  fc.record(
    {
      kind: fc.constant('function' as const),
      name,
      description: text,
      parameters: object.map(fields => ({ ...fields, type: 'object' })),
      strict: fc.boolean(),
      ...extras,
    },
    { requiredKeys: ['kind', 'name', 'parameters'] },
  ),
  fc
    .tuple(fc.constantFrom('web_search_20250305', 'bash_20250124'), object)
    .map(([type, fields]): Tool => ({ kind: 'opaque', format: FORMAT, value: { ...fields, type } })),
)

const output: fc.Arbitrary<OutputFormat> = object.map(schema => ({ type: 'json-schema', schema }))

const decimal = fc.integer({ min: 0, max: 100 }).map(value => value / 100)

/** A turn at the end that says what to do with tools, thinking or sampling; only some of it goes together. */
const manner: fc.Arbitrary<Partial<Call>> = fc.oneof(
  fc.record(
    {
      reasoning: fc.oneof(
        fc.record(
          { effort: fc.constantFrom('low', 'medium', 'high', 'xhigh', 'max'), isShown: fc.boolean() },
          { requiredKeys: ['effort'] },
        ),
        fc.record(
          {
            budgetTokens: fc.integer({ min: 1024, max: 2000 }),
            effort: fc.constantFrom('low', 'high'),
            isShown: fc.boolean(),
          },
          { requiredKeys: ['budgetTokens'] },
        ),
      ),
      toolChoice: fc.record({ mode: fc.constantFrom('auto' as const, 'none' as const) }),
    },
    { requiredKeys: ['reasoning'] },
  ),
  fc
    .record(
      {
        reasoning: fc.constant({ effort: 'none' }),
        temperature: decimal,
        topP: decimal,
        topK: fc.nat({ max: 100 }),
        toolChoice: fc.oneof(
          fc.record({ mode: fc.constantFrom('auto' as const, 'required' as const) }),
          fc.record({ mode: fc.constant('tool' as const), name }),
        ),
        parallelToolCalls: fc.boolean(),
      },
      { requiredKeys: [] },
    )
    .map(({ parallelToolCalls, ...fields }) =>
      fields.toolChoice && parallelToolCalls !== undefined ? { ...fields, parallelToolCalls } : fields,
    ),
)

export const call: fc.Arbitrary<Call> = fc
  .record(
    {
      model: name,
      messages: conversation,
      tools: fc.array(tool, { minLength: 1, maxLength: 3 }),
      output,
      maxOutputTokens: fc.integer({ min: 2001, max: 1_000_000 }),
      stop: fc.array(text, { maxLength: 4 }),
      endUser: text,
      serviceTier: fc.constantFrom('auto', 'default'),
      isStream: fc.boolean(),
      extensions: fc.oneof(extensions, fc.constant({})),
    },
    { requiredKeys: ['model', 'messages', 'tools', 'maxOutputTokens', 'isStream', 'extensions'] },
  )
  .chain(each => manner.map((fields): Call => ({ ...each, ...fields, wantsStreamUsage: each.isStream })))
  .filter(({ reasoning, messages }) => !isThinking(reasoning) || !isBegun(messages.at(-1)))

function isThinking(reasoning: Call['reasoning']): boolean {
  return reasoning !== undefined && reasoning.effort !== 'none'
}

function isBegun(last: Message | undefined): boolean {
  return last?.role === 'assistant' && last.parts.at(-1)?.type === 'text'
}

const count = fc.nat({ max: 1_000_000 })

export const usage: fc.Arbitrary<Usage> = fc
  .record(
    {
      input: count,
      outputTokens: count,
      cacheReadTokens: count,
      write5m: count,
      write1h: count,
      reasoningTokens: count,
    },
    { requiredKeys: ['input', 'outputTokens'] },
  )
  .map(({ input, outputTokens, cacheReadTokens, write5m, write1h, reasoningTokens }) => {
    const hasWrites = write5m !== undefined && write1h !== undefined
    const writes = hasWrites && {
      cacheWriteTokens: write5m + write1h,
      cacheWrite5mTokens: write5m,
      cacheWrite1hTokens: write1h,
    }
    return {
      inputTokens: input + (cacheReadTokens ?? 0) + (hasWrites ? write5m + write1h : 0),
      outputTokens,
      ...writes,
      ...(cacheReadTokens !== undefined && { cacheReadTokens }),
      ...(reasoningTokens !== undefined && { reasoningTokens }),
    }
  })

const citation = fc.oneof(
  fc.record({
    type: fc.constant('web_search_result_location'),
    url: fc.webUrl(),
    title: text,
    cited_text: text,
    encrypted_index: name,
  }),
  fc.record({ type: fc.constant('char_location'), cited_text: text, document_index: count }),
)

const citedText: fc.Arbitrary<Part> = fc
  .tuple(text, fc.array(citation, { minLength: 1, maxLength: 3 }))
  .map(([said, citations]) => {
    const ofPages = citations.flatMap(each => ('url' in each ? [{ url: each.url, title: each.title }] : []))
    return {
      type: 'text',
      text: said,
      ...(ofPages.length > 0 && { citations: ofPages }),
      extensions: { [FORMAT]: { citations } },
    }
  })

const answerPart: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text }),
  citedText,
  sealedThought,
  fc.record({ type: fc.constant('reasoning' as const), text }),
  opaquePart,
)

const finish: fc.Arbitrary<Finish> = fc.oneof(
  fc.constantFrom<Finish>(
    { reason: 'stop', raw: 'end_turn' },
    { reason: 'length', raw: 'max_tokens' },
    { reason: 'length', raw: 'model_context_window_exceeded' },
    { reason: 'pause', raw: 'pause_turn' },
    { reason: 'refusal', raw: 'refusal' },
  ),
  text.map((stopSequence): Finish => ({ reason: 'stop-sequence', raw: 'stop_sequence', stopSequence })),
)

const answerCall: fc.Arbitrary<Part> = toolCall.map(({ cache: _, ...call }) => call)

export const anyResult: fc.Arbitrary<Result> = fc
  .record(
    {
      id: name,
      model: name,
      parts: fc.array(answerPart, { maxLength: 4 }),
      calls: fc.array(answerCall, { maxLength: 3 }),
      finish,
      usage,
      serviceTier: fc.constantFrom('default', 'priority', 'batch'),
      container: object,
      serverToolUse: fc.record({ web_search_requests: count }),
    },
    { requiredKeys: ['id', 'model', 'parts', 'calls', 'finish', 'usage'] },
  )
  .map(({ id, model, parts, calls, finish, usage, serviceTier, container, serverToolUse }) => {
    const own = { ...(container && { container }), ...(serverToolUse && { usage: { server_tool_use: serverToolUse } }) }
    const hasCalls = calls.length > 0 && finish.reason === 'stop'
    return {
      id,
      model,
      createdAt: 0,
      choices: [
        {
          index: 0,
          parts: [...parts, ...calls],
          finish: hasCalls ? { reason: 'tool-calls', raw: 'tool_use' } : finish,
        },
      ],
      usage,
      ...(serviceTier !== undefined && { serviceTier }),
      extensions: Object.keys(own).length === 0 ? {} : { [FORMAT]: own },
    }
  })

/** An answer as neutral events, text and arguments cut at `places`. */
export function resultEvents(result: Result, places: readonly number[]): CallEvent[] {
  const { id, model, createdAt, choices, usage, extensions } = result
  return [
    { type: 'response-start', id, model, createdAt },
    ...(choices[0]?.parts ?? []).flatMap((part, number) => partEvents(part, { choice: 0, part: number }, places)),
    { type: 'choice-end', choice: 0, finish: choices[0]?.finish ?? { reason: 'other', raw: undefined } },
    ...(usage ? [{ type: 'usage' as const, usage }] : []),
    { type: 'response-end', ...(Object.keys(extensions).length > 0 && { extensions }) },
  ]
}

function partEvents(part: Part, at: { choice: number; part: number }, places: readonly number[]): CallEvent[] {
  const deltas = (written: string) =>
    cutText(written, places).map((text): CallEvent => ({ type: 'part-delta', ...at, text }))
  switch (part.type) {
    case 'text': {
      const { citations, extensions } = part
      const end = { ...(citations && { citations }), ...(extensions && { extensions }) }
      return [{ type: 'part-start', ...at, kind: 'text' }, ...deltas(part.text), { type: 'part-end', ...at, ...end }]
    }
    case 'reasoning': {
      const { signature, encrypted } = part
      const seals = { ...(signature && { signature }), ...(encrypted && { encrypted }) }
      const start: CallEvent = { type: 'part-start', ...at, kind: 'reasoning' }
      return [start, ...deltas(part.text), { type: 'part-end', ...at, ...seals }]
    }
    case 'tool-call': {
      const { id, name, kind: toolKind, extensions } = part
      const own = extensions && { extensions }
      const start: CallEvent = { type: 'part-start', ...at, kind: 'tool-call', id, name, toolKind, ...own }
      return [start, ...deltas(part.arguments), { type: 'part-end', ...at }]
    }
    case 'opaque':
      return [
        { type: 'part-start', ...at, kind: 'whole', value: part },
        { type: 'part-end', ...at },
      ]
    default:
      throw new Error(`no answer has a ${part.type}`)
  }
}

/** The events with which an upstream would stream a message, text and arguments cut at `places`. */
export function streamEvents(message: Json, places: readonly number[]): Json[] {
  const { content, stop_reason, stop_sequence, usage, container, ...head } = message
  const { output_tokens, ...counts } = usage as Json
  const start = { ...head, content: [], stop_reason: null, stop_sequence: null, usage: { ...counts, output_tokens: 1 } }
  return [
    { type: 'message_start', message: start },
    { type: 'ping' },
    ...(content as Json[]).flatMap((block, index) => blockEvents(block, index, places)),
    {
      type: 'message_delta',
      delta: { stop_reason, stop_sequence, container: container ?? null },
      // The end is right where both speak of the same, so this is no lie when the real count is 0.
      usage: { output_tokens: Math.max(1, output_tokens as number), input_tokens: 0 },
    },
    { type: 'message_stop' },
  ]
}

function blockEvents(block: Json, index: number, places: readonly number[]): Json[] {
  const deltas = (type: string, field: string, written: unknown) =>
    cutText(written as string, places).map(fragment => ({ type, [field]: fragment }))
  const events = (empty: Json, ...inner: Json[]) => [
    { type: 'content_block_start', index, content_block: { ...block, ...empty } },
    ...inner.map(delta => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
  switch (block.type) {
    case 'text': {
      const citations = ((block.citations ?? []) as Json[]).map(each => ({ type: 'citations_delta', citation: each }))
      return events({ text: '', citations: null }, ...deltas('text_delta', 'text', block.text), ...citations)
    }
    case 'thinking': {
      const seal = { type: 'signature_delta', signature: block.signature }
      return events({ thinking: '', signature: '' }, ...deltas('thinking_delta', 'thinking', block.thinking), seal)
    }
    case 'tool_use':
      return events({ input: {} }, ...deltas('input_json_delta', 'partial_json', JSON.stringify(block.input)))
    default:
      return events({})
  }
}
