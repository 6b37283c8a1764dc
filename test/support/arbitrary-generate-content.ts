import fc from 'fast-check'
import type {
  Call,
  Message,
  OutputFormat,
  Part,
  Source,
  Tool,
  ToolChoice,
  ToolResultPart,
  UrlCitation,
} from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import type { Choice, Finish, Result, TokenLogprob } from '#core/result.ts'
import type { Usage } from '#core/usage.ts'
import { jsonValue } from './arbitrary-json.ts'
import { cutPlaces, cutText } from './cut.ts'

/**
 * Calls and answers that generate-content can carry. What it cannot tell apart is generated in the one form that comes
 * back:
 *
 * - instructions are one message at the front, and no two messages of one role follow each other, since neighbours are
 *   joined; no message is empty, and no text is unless it is signed;
 * - arguments of a function are a JSON object as we print it; every result names its function;
 * - a result's text is one part before its media;
 * - bytes and addresses have a media type that fits their kind; audio is named by the codec of that type;
 * - a subset of tools that must be used has at least two names, one that may be used at least one;
 * - reasoning has either an effort or a budget; an output schema has neither name nor description;
 * - tokens of log probabilities come without their bytes.
 */

const FORMAT = 'generate-content'

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
const name = fc.stringMatching(/^[A-Za-z0-9-]{1,12}$/)
const data = fc.base64String({ maxLength: 16 })
const count = fc.nat()
const object = fc.dictionary(name, jsonValue, { maxKeys: 3 }).map(each => ({ ...each }))
const signature = fc.base64String({ minLength: 4, maxLength: 8 })
const argumentsJson = object.map(each => JSON.stringify(each))

const textPart: fc.Arbitrary<Part> = fc.record(
  { type: fc.constant('text' as const), text, signature },
  { requiredKeys: ['type', 'text'] },
)
const reasoningPart: fc.Arbitrary<Part> = fc.record(
  { type: fc.constant('reasoning' as const), text, signature },
  { requiredKeys: ['type', 'text'] },
)
const sealPart: fc.Arbitrary<Part> = fc.record({
  type: fc.constantFrom('text' as const, 'reasoning' as const),
  text: fc.constant(''),
  signature,
})

function source(mediaType: string): fc.Arbitrary<Source> {
  return fc.oneof(
    fc.record({ kind: fc.constant('base64' as const), mediaType: fc.constant(mediaType), data }),
    fc.record({
      kind: fc.constant('url' as const),
      url: fc.webUrl({ validSchemes: ['https'] }),
      mediaType: fc.constant(mediaType),
    }),
    fc.record({
      kind: fc.constant('file' as const),
      id: name.map(each => `https://generativelanguage.googleapis.com/v1beta/files/${each}`),
      mediaType: fc.constant(mediaType),
    }),
  )
}

const ofKind = <K extends string>(type: K, mediaType: string) =>
  fc.record({ type: fc.constant(type), source: source(mediaType) })

const mediaPart: fc.Arbitrary<Extract<Part, { type: 'image' | 'audio' | 'video' | 'document' }>> = fc.oneof(
  ofKind('image', 'image/png'),
  ofKind('audio', 'audio/wav').map(part => ({ ...part, format: 'wav' })),
  ofKind('video', 'video/mp4'),
  ofKind('document', 'application/pdf'),
)

const codePart: fc.Arbitrary<Extract<Part, { type: 'opaque' }>> = fc.record({
  type: fc.constant('opaque' as const),
  format: fc.constant(FORMAT),
  value: fc.record({ executableCode: fc.record({ language: fc.constant('PYTHON'), code: text }) }),
})

/** A medium with fields beside it that only this format knows. */
const riddenMedia: fc.Arbitrary<Part[]> = mediaPart.map(part => [
  part,
  { type: 'opaque', format: FORMAT, value: { videoMetadata: { fps: 2 } } },
])

const contentParts: fc.Arbitrary<Part[]> = fc
  .array(
    fc.oneof(
      textPart.map(each => [each]),
      mediaPart.map(each => [each]),
      riddenMedia,
      codePart.map(each => [each]),
    ),
    {
      minLength: 1,
      maxLength: 3,
    },
  )
  .map(each => each.flat())

type ToolCall = Extract<Part, { type: 'tool-call' }>

const toolCall: fc.Arbitrary<ToolCall> = fc.record(
  {
    type: fc.constant('tool-call' as const),
    kind: fc.constant('function' as const),
    id: name,
    name,
    arguments: argumentsJson,
    signature,
  },
  { requiredKeys: ['type', 'kind', 'id', 'name', 'arguments'] },
)

const resultParts: fc.Arbitrary<Part[]> = fc
  .tuple(
    fc.array(fc.record({ type: fc.constant('text' as const), text }), { maxLength: 1 }),
    fc.array(mediaPart, { maxLength: 1 }),
    fc.constantFrom<Part[]>(
      [],
      [{ type: 'opaque', format: FORMAT, value: { functionResponse: { scheduling: 'SILENT' } } }],
    ),
  )
  .map(parts => parts.flat())

const assistant: fc.Arbitrary<Part[]> = fc
  .array(fc.oneof(textPart, reasoningPart, sealPart, toolCall, codePart, mediaPart), { minLength: 1, maxLength: 4 })
  .map(withoutSplitThoughts)

/** What follows an unsealed thought as a thought is more of it. */
function withoutSplitThoughts(parts: readonly Part[]): Part[] {
  const said: Part[] = []
  for (const part of parts) {
    const last = said.at(-1)
    const isMore = part.type === 'reasoning' && last?.type === 'reasoning' && last.signature === undefined
    if (!isMore) said.push(part)
  }
  return said
}

/** A question, an answer, and where the answer calls tools, their results and perhaps more words. */
const turn: fc.Arbitrary<Message[]> = fc
  .tuple(contentParts, assistant, fc.array(fc.tuple(resultParts, fc.boolean()), { minLength: 4, maxLength: 4 }))
  .map(([asked, said, results]) => {
    const calls = said.filter(part => part.type === 'tool-call')
    const answered = calls.map((call, i): ToolResultPart => {
      const [parts, isError] = results[i] ?? [[], false]
      const flagged = isError && parts.some(part => part.type === 'text')
      return { type: 'tool-result', callId: call.id, name: call.name, parts, ...(flagged && { isError }) }
    })
    return [
      { role: 'user', parts: asked },
      { role: 'assistant', parts: said },
      ...(answered.length > 0 ? [{ role: 'tool' as const, parts: answered }] : []),
    ]
  })

const messages: fc.Arbitrary<Message[]> = fc
  .tuple(
    fc.option(fc.array(textPart, { minLength: 1, maxLength: 2 }), { nil: undefined }),
    fc.array(turn, { maxLength: 2 }),
    contentParts,
  )
  .map(([system, turns, last]) => [
    ...(system ? [{ role: 'system' as const, parts: system }] : []),
    ...turns.flat(),
    { role: 'user', parts: last },
  ])

const aFunction: fc.Arbitrary<Tool> = fc.record(
  {
    kind: fc.constant('function' as const),
    name,
    description: text,
    parameters: fc.dictionary(name, jsonValue, { maxKeys: 2 }).map(each => ({ ...each, type: 'object' })),
  },
  { requiredKeys: ['kind', 'name'] },
)

const tools: fc.Arbitrary<Tool[]> = fc
  .tuple(
    fc.uniqueArray(aFunction, { minLength: 1, maxLength: 3, selector: each => ('name' in each ? each.name : '') }),
    fc.constantFrom<Tool[]>([], [{ kind: 'opaque', format: FORMAT, value: { googleSearch: {} } }]),
  )
  .map(each => each.flat())

const toolChoice: fc.Arbitrary<ToolChoice> = fc.oneof(
  fc.record({ mode: fc.constantFrom('auto' as const, 'none' as const, 'required' as const) }),
  fc.record({ mode: fc.constant('tool' as const), name }),
  fc.record({
    mode: fc.constant('subset' as const),
    names: fc.array(name, { minLength: 2, maxLength: 3 }),
    isRequired: fc.boolean(),
  }),
)

const output: fc.Arbitrary<OutputFormat> = fc.oneof(
  fc.record({ type: fc.constantFrom('text' as const, 'json' as const) }),
  fc.record({ type: fc.constant('json-schema' as const), schema: object }),
)

const decimal = (min: number, max: number) =>
  fc.integer({ min: min * 100, max: max * 100 }).map(value => value / 100 || 0)

const shown = { isShown: fc.boolean() }
const reasoning = fc.oneof(
  fc.record(
    { effort: fc.constantFrom('none', 'minimal', 'low', 'medium', 'high'), ...shown },
    { requiredKeys: ['effort'] },
  ),
  fc.record({ budgetTokens: fc.integer({ min: 1 }), ...shown }, { requiredKeys: ['budgetTokens'] }),
)

const requestExtensions: fc.Arbitrary<Call['extensions']> = fc
  .record(
    {
      safetySettings: fc.constant([{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'OFF' }]),
      cachedContent: name.map(each => `cachedContents/${each}`),
      generationConfig: fc.constant({ mediaResolution: 'MEDIA_RESOLUTION_LOW' }),
      toolConfig: fc.constant({ retrievalConfig: { languageCode: 'de' } }),
      x_unheard_of: jsonValue.filter(value => value !== null),
    },
    { requiredKeys: [] },
  )
  .map((fields): Call['extensions'] => (Object.keys(fields).length === 0 ? {} : { [FORMAT]: { ...fields } }))

export const call: fc.Arbitrary<Call> = fc
  .record(
    {
      model: name,
      messages,
      tools,
      toolChoice,
      output,
      maxOutputTokens: fc.integer({ min: 1 }),
      temperature: decimal(0, 2),
      topP: decimal(0, 1),
      topK: count,
      presencePenalty: decimal(-2, 2),
      frequencyPenalty: decimal(-2, 2),
      seed: fc.integer(),
      stop: fc.array(text, { maxLength: 4 }),
      topLogprobs: fc.integer({ min: 0, max: 20 }),
      reasoning,
      modalities: fc.array(fc.constantFrom('text', 'audio'), { maxLength: 2 }),
      audioOutput: fc.record({ voice: name, format: fc.constant('pcm16') }),
      isStream: fc.boolean(),
      extensions: requestExtensions,
    },
    { requiredKeys: ['model', 'messages', 'isStream', 'extensions'] },
  )
  .map(each => ({ ...each, wantsStreamUsage: each.isStream }))

/** Reasoning is a part of the output, and both totals are always known. */
export const anyUsage: fc.Arbitrary<Usage> = fc
  .record(
    {
      inputTokens: count,
      outputTokens: fc.nat({ max: 2 ** 30 }),
      totalTokens: count,
      cacheReadTokens: count,
      audioInputTokens: count,
      reasoningTokens: fc.nat({ max: 2 ** 30 }),
      audioOutputTokens: count,
    },
    { requiredKeys: ['inputTokens', 'outputTokens', 'totalTokens'] },
  )
  .map(usage => ({ ...usage, outputTokens: usage.outputTokens + (usage.reasoningTokens ?? 0) }))

const finish: fc.Arbitrary<Finish> = fc.constantFrom<Finish>(
  { reason: 'stop', raw: 'STOP' },
  { reason: 'length', raw: 'MAX_TOKENS' },
  { reason: 'refusal', raw: 'RECITATION' },
  { reason: 'error', raw: 'MALFORMED_FUNCTION_CALL' },
  { reason: 'other', raw: 'LANGUAGE' },
)

const token = fc.record({ token: text, logprob: fc.integer({ min: -1000, max: 0 }).map(value => value / 10 || 0) })
const logprobs: fc.Arbitrary<TokenLogprob[]> = fc.array(
  fc.tuple(token, fc.array(token, { maxLength: 2 })).map(([each, top]) => ({ ...each, top })),
  { maxLength: 2 },
)

const citations: fc.Arbitrary<UrlCitation[]> = fc.uniqueArray(
  fc.oneof(
    fc.record({ url: fc.webUrl(), title: text, startIndex: count, endIndex: count }),
    fc.record({ url: fc.webUrl() }),
  ),
  { minLength: 1, maxLength: 2, selector: each => JSON.stringify(each) },
)

/**
 * What a candidate says. No two texts of one kind follow each other, since a stream could not tell them apart, and only
 * the last text has citations, and only when it is the last part.
 */
const said: fc.Arbitrary<Part[]> = fc
  .tuple(
    fc.array(fc.oneof(textPart, reasoningPart, toolCall, mediaPart, codePart), { maxLength: 4 }),
    fc.option(citations, { nil: undefined }),
  )
  .map(([parts, cited]) => {
    const apart = parts.filter((part, i) => !isText(part) || part.type !== parts[i - 1]?.type)
    const last = apart.at(-1)
    return last?.type === 'text' && cited ? [...apart.slice(0, -1), { ...last, citations: cited }] : apart
  })

function isText(part: Part): boolean {
  return part.type === 'text' || part.type === 'reasoning'
}

/** A candidate that calls tools stops like any other, and means it differently. */
function finishOf(parts: readonly Part[], given: Finish): Finish {
  const callsTools = parts.some(part => part.type === 'tool-call')
  return given.reason === 'stop' && callsTools ? { reason: 'tool-calls', raw: 'STOP' } : given
}

const choices: fc.Arbitrary<Choice[]> = fc
  .array(fc.record({ parts: said, finish, logprobs }, { requiredKeys: ['parts', 'finish'] }), {
    minLength: 1,
    maxLength: 3,
  })
  .map(each => each.map((choice, index) => ({ index, ...choice, finish: finishOf(choice.parts, choice.finish) })))

const head = { id: fc.string(), model: fc.string(), createdAt: fc.nat() }

export const anyResult: fc.Arbitrary<Result> = fc.record({
  ...head,
  choices,
  usage: fc.option(anyUsage, { nil: undefined }),
  extensions: fc.constantFrom<Result['extensions']>(
    {},
    { [FORMAT]: { x_unheard_of: 1, promptFeedback: { safetyRatings: [] } } },
  ),
})

/** The parts of an answer as a stream says them: texts in fragments, everything else at once. */
function toEvents(parts: readonly Part[], choice: number, places: readonly number[]): CallEvent[] {
  return parts.flatMap((part, index): CallEvent[] => {
    const at = { choice, part: index }
    const delta = (text: string): CallEvent => ({ type: 'part-delta', ...at, text })
    const end: CallEvent = {
      type: 'part-end',
      ...at,
      ...('citations' in part && part.citations && { citations: part.citations }),
      ...('signature' in part && part.signature !== undefined && { signature: part.signature }),
    }
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return [{ type: 'part-start', ...at, kind: part.type }, ...cutText(part.text, places).map(delta), end]
      case 'tool-call': {
        const { id, name, kind: toolKind } = part
        const start: CallEvent = { type: 'part-start', ...at, kind: 'tool-call', id, name, toolKind }
        return [start, ...cutText(part.arguments, places).map(delta), end]
      }
      case 'audio':
        if (part.source.kind === 'base64' && part.source.data !== '') {
          const { mediaType, data } = part.source
          return [{ type: 'part-start', ...at, kind: 'audio', mediaType, format: part.format }, delta(data), end]
        }
        return []
      case 'image':
      case 'video':
      case 'document':
      case 'opaque':
        return [{ type: 'part-start', ...at, kind: 'whole', value: part }, end]
      default:
        return []
    }
  })
}

/** An answer, and a grammatical sequence of events that says the same. */
export const anyStreamed: fc.Arbitrary<{ result: Result; events: CallEvent[] }> = fc
  .tuple(anyResult, cutPlaces, fc.array(fc.nat(), { maxLength: 60 }))
  .map(([any, places, turns]) => {
    const spoken = any.choices.map(({ index, parts, finish: given }): Choice => {
      // Audio with nothing in it, or elsewhere, is no stream of audio.
      const streamed = parts.filter(
        part => part.type !== 'audio' || (part.source.kind === 'base64' && part.source.data),
      )
      const apart = streamed.filter((part, i) => !isText(part) || part.type !== streamed[i - 1]?.type)
      return { index, parts: apart, finish: given }
    })
    const result: Result = { ...any, choices: spoken, extensions: {} }
    const queues = spoken.map(({ index, parts, finish: given }): CallEvent[] => [
      ...toEvents(parts, index, places),
      { type: 'choice-end', choice: index, finish: given },
    ])
    const { id, model, createdAt, usage } = result
    const events: CallEvent[] = [{ type: 'response-start', id, model, createdAt }]
    for (let turn = 0; queues.some(queue => queue.length > 0); turn++) {
      const busy = queues.filter(queue => queue.length > 0)
      events.push(busy[(turns[turn] ?? 0) % busy.length]!.shift()!)
    }
    if (usage) events.push({ type: 'usage', usage })
    return { result, events: [...events, { type: 'response-end' }] }
  })
