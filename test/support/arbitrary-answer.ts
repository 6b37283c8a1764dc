import fc from 'fast-check'
import type { ImagePart, Part, UrlCitation } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import type { Choice, Finish, Result, TokenLogprob } from '#core/result.ts'
import type { Usage } from '#core/usage.ts'
import { extensions, thoughts } from './arbitrary-call.ts'
import { jsonValue } from './arbitrary-json.ts'
import { cutPlaces, cutText } from './cut.ts'

/**
 * Answers that chat-completions can carry. What it cannot tell apart is generated in the one form that comes back:
 *
 * - a choice has at most one part each of reasoning, text, refusal and audio, in this order and never empty, and then
 *   its images and its tool calls: each of the four is one field of the message;
 * - citations have all of their fields, since the format has them always;
 * - the finish reason is one that the format has a word for, and no plain stop where tools are called;
 * - both sides of the usage are known, since the format always has its totals.
 */

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
const name = fc.stringMatching(/^[A-Za-z0-9-]{1,12}$/)
const count = fc.nat()

/** Within their totals, which add up: a host whose counts do not is taken to count otherwise. */
export const anyUsage: fc.Arbitrary<Usage> = fc
  .record(
    {
      fresh: count,
      said: count,
      cacheReadTokens: count,
      cacheWriteTokens: count,
      audioInputTokens: count,
      reasoningTokens: count,
      audioOutputTokens: count,
    },
    { requiredKeys: ['fresh', 'said'] },
  )
  .map(({ fresh, said, ...parts }) => {
    const { cacheReadTokens = 0, cacheWriteTokens = 0, audioInputTokens = 0 } = parts
    const inputTokens = fresh + cacheReadTokens + cacheWriteTokens + audioInputTokens
    const outputTokens = said + (parts.reasoningTokens ?? 0) + (parts.audioOutputTokens ?? 0)
    return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, ...parts }
  })

export const anyFinish: fc.Arbitrary<Finish> = fc.constantFrom<Finish>(
  { reason: 'stop', raw: 'stop' },
  { reason: 'length', raw: 'length' },
  { reason: 'tool-calls', raw: 'tool_calls' },
  { reason: 'refusal', raw: 'content_filter' },
)

const token = fc.record(
  {
    token: text,
    logprob: fc.integer({ min: -1000, max: 0 }).map(value => value / 10 || 0),
    bytes: fc.array(fc.nat({ max: 255 }), { maxLength: 4 }),
  },
  { requiredKeys: ['token', 'logprob'] },
)

/** What calls tools stops for them. */
function endingOf(finish: Finish, hasToolCalls: boolean): Finish {
  return finish.reason === 'stop' && hasToolCalls ? { reason: 'tool-calls', raw: 'tool_calls' } : finish
}

export const anyLogprobs: fc.Arbitrary<TokenLogprob[]> = fc.array(
  fc.tuple(token, fc.array(token, { maxLength: 2 })).map(([each, top]) => ({ ...each, top })),
  { maxLength: 2 },
)

export const anyCitations: fc.Arbitrary<UrlCitation[]> = fc.array(
  fc.record({ url: fc.webUrl(), title: fc.string(), startIndex: count, endIndex: count }),
  { minLength: 1, maxLength: 2 },
)

const argumentsJson = fc.dictionary(name, jsonValue, { maxKeys: 3 }).map(each => JSON.stringify(each))
const anyText = fc.string({ unit: fc.constantFrom('{', '}', '"', '\\', 'a', ' ', '[', ']', ','), maxLength: 10 })

type ToolCall = Extract<Part, { type: 'tool-call' }>

function toolCall(kind: ToolCall['kind'], written: fc.Arbitrary<string>): fc.Arbitrary<ToolCall> {
  return fc.record(
    { type: fc.constant('tool-call'), kind: fc.constant(kind), id: name, name, arguments: written },
    { noNullPrototype: true },
  )
}

/** With text for arguments, be it JSON or not. */
export const anyToolCall: fc.Arbitrary<ToolCall> = fc.oneof(
  toolCall('function', fc.oneof(argumentsJson, anyText)),
  toolCall('custom', anyText),
)

/** A function's arguments are one JSON object, or broke off before its end: their end can be seen in them. */
export const anySoundToolCall: fc.Arbitrary<ToolCall> = fc.oneof(
  toolCall('function', argumentsJson),
  toolCall(
    'function',
    argumentsJson.map(each => each.slice(0, -1)),
  ),
  toolCall('custom', anyText),
)

const optionally = <T>(part: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(part, { maxLength: 1 })

const anyImage: fc.Arbitrary<ImagePart> = fc.record({
  type: fc.constant('image' as const),
  source: fc.oneof(
    fc.record({ kind: fc.constant('url' as const), url: fc.webUrl() }),
    fc.record({
      kind: fc.constant('base64' as const),
      mediaType: fc.constantFrom('image/png', undefined),
      data: fc.base64String({ maxLength: 16 }),
    }),
  ),
})

const parts: fc.Arbitrary<Part[]> = fc
  .tuple(
    thoughts,
    optionally(
      fc.record(
        { type: fc.constant('text' as const), text, citations: anyCitations },
        { requiredKeys: ['type', 'text'] },
      ),
    ),
    optionally(fc.record({ type: fc.constant('refusal' as const), text })),
    optionally(
      fc.record({
        type: fc.constant('audio' as const),
        source: fc.record({
          kind: fc.constant('base64' as const),
          mediaType: fc.constant(undefined),
          data: fc.base64String({ minLength: 4, maxLength: 16 }),
        }),
        transcript: fc.string(),
      }),
    ),
    fc.array(anyImage, { maxLength: 2 }),
    fc.uniqueArray(anyToolCall, { maxLength: 3, selector: call => call.id }),
  )
  .map(each => each.flat())

const choices: fc.Arbitrary<Choice[]> = fc
  .array(fc.record({ parts, finish: anyFinish, logprobs: anyLogprobs }, { requiredKeys: ['parts', 'finish'] }), {
    minLength: 1,
    maxLength: 3,
  })
  .map(each =>
    each.map(({ finish, ...choice }, index) => {
      const hasToolCalls = choice.parts.some(part => part.type === 'tool-call')
      return { index, ...choice, finish: endingOf(finish, hasToolCalls) }
    }),
  )

export const anyResult: fc.Arbitrary<Result> = fc.record(
  {
    id: fc.string(),
    model: fc.string(),
    createdAt: count,
    choices,
    usage: fc.option(anyUsage, { nil: undefined }),
    serviceTier: name,
    extensions,
  },
  { requiredKeys: ['id', 'model', 'createdAt', 'choices', 'usage', 'extensions'] },
)

/** One choice's part of a stream: its parts, each in fragments. */
const spokenParts: fc.Arbitrary<CallEvent[][]> = fc
  .array(
    fc.oneof(
      fc.record({
        kind: fc.constantFrom('text' as const, 'reasoning' as const, 'refusal' as const, 'audio' as const),
        fragments: fc.array(fc.tuple(text, fc.option(anyLogprobs, { nil: undefined })), { minLength: 1, maxLength: 3 }),
        citations: fc.option(anyCitations, { nil: undefined }),
      }),
      fc.record({ kind: fc.constant('whole' as const), value: anyImage }),
      fc.record({ kind: fc.constant('tool-call' as const), call: anyToolCall, places: cutPlaces }),
    ),
    { maxLength: 5 },
  )
  .map(spoken => spoken.filter((part, i) => REPEATED.has(part.kind) || part.kind !== spoken[i - 1]?.kind))
  .map(spoken => spoken.map(toPartEvents))

/** Kinds of parts that may follow each other and stay apart. */
const REPEATED: ReadonlySet<string> = new Set(['tool-call', 'whole'])

type SpokenPart =
  | {
      readonly kind: 'text' | 'reasoning' | 'refusal' | 'audio'
      readonly fragments: readonly (readonly [string, TokenLogprob[] | undefined])[]
      readonly citations: UrlCitation[] | undefined
    }
  | { readonly kind: 'whole'; readonly value: ImagePart }
  | { readonly kind: 'tool-call'; readonly call: ToolCall; readonly places: readonly number[] }

/** The events of one part, in choice 0 under its number. */
function toPartEvents(spoken: SpokenPart, part: number): CallEvent[] {
  const at = { choice: 0, part }
  if (spoken.kind === 'tool-call') {
    const { id, name, kind, arguments: written } = spoken.call
    return [
      { type: 'part-start', ...at, kind: 'tool-call', id, name, toolKind: kind },
      ...cutText(written, spoken.places).map((text): CallEvent => ({ type: 'part-delta', ...at, text })),
      { type: 'part-end', ...at },
    ]
  }
  if (spoken.kind === 'whole') {
    return [
      { type: 'part-start', ...at, ...spoken },
      { type: 'part-end', ...at },
    ]
  }
  const { kind, fragments, citations } = spoken
  return [
    { type: 'part-start', ...at, kind },
    ...fragments.map(
      ([text, logprobs]): CallEvent => ({
        type: 'part-delta',
        ...at,
        text,
        ...(kind === 'text' && logprobs && { logprobs }),
      }),
    ),
    { type: 'part-end', ...at, ...(kind === 'text' && citations && { citations }) },
  ]
}

/**
 * Grammatical event sequences that end well. What the format cannot tell apart is generated in the one form that comes
 * back: no fragment is empty, no two parts of one kind but images and tool calls follow each other, and only text has log
 * probabilities and citations.
 */
export const anyEvents: fc.Arbitrary<CallEvent[]> = fc
  .record({
    head: fc.record({ id: fc.string(), model: fc.string(), createdAt: count }),
    choices: fc.array(fc.tuple(spokenParts, anyFinish), { minLength: 1, maxLength: 3 }),
    turns: fc.array(fc.nat(), { maxLength: 60 }),
    usage: fc.option(anyUsage, { nil: undefined }),
  })
  .map(({ head, choices, turns, usage }) => {
    const queues = choices.map(([parts, finish], choice): CallEvent[] => {
      const events = parts.flat()
      const hasToolCalls = events.some(event => event.type === 'part-start' && event.kind === 'tool-call')
      return [
        ...events.map((event): CallEvent => ('choice' in event ? { ...event, choice } : event)),
        { type: 'choice-end', choice, finish: endingOf(finish, hasToolCalls) },
      ]
    })
    const events: CallEvent[] = [{ type: 'response-start', ...head }]
    for (let turn = 0; queues.some(queue => queue.length > 0); turn++) {
      const busy = queues.filter(queue => queue.length > 0)
      events.push(busy[(turns[turn] ?? 0) % busy.length]!.shift()!)
    }
    return [...events, ...(usage ? [{ type: 'usage' as const, usage }] : []), { type: 'response-end' as const }]
  })
