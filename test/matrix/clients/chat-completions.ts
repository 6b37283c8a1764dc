import assert from 'node:assert/strict'
import type OpenAI from 'openai'
import type { Answer, Image, ToolCall, ToolChoice, Turn } from '../conversation.ts'
import type { Frame } from '../frames.ts'
import type { Ask, Client } from './client.ts'
import { describeError, openai } from './openai.ts'

type Request = OpenAI.Chat.ChatCompletionCreateParamsNonStreaming
type Message = OpenAI.Chat.ChatCompletionMessageParam

/** What many hosts add to a message, and the SDK gives on without a type. */
interface Reasoning {
  readonly reasoning_content?: string
  readonly reasoning_details?: readonly Readonly<Record<string, unknown>>[]
}

export const chatCompletions: Client = {
  format: 'chat-completions',
  ask: (way, ask) => (way === 'whole' ? whole(ask) : stream(ask)),
  describe: describeError,
  assertOrder,
  midwayKind: 'APIError',
  stopWords: {
    end: 'stop',
    sequence: 'stop',
    calls: 'tool_calls',
    length: 'length',
    context: 'length',
    refusal: 'content_filter',
  },
  counts: {
    input: 'always',
    output: 'always',
    cacheRead: 'where told',
    cacheWrite: 'where told',
    reasoning: 'where told',
  },
}

async function whole(ask: Ask): Promise<Answer> {
  const answer = await openai(ask).chat.completions.create(request(ask), { signal: ask.signal })
  return read(answer, answer.choices[0]?.message ?? {})
}

/** The SDK gathers what it has a type for; reasoning is gathered from the chunks, as its users do. */
async function stream(ask: Ask): Promise<Answer> {
  const stream_options = { include_usage: true }
  const params = { ...request(ask), stream: true as const, stream_options }
  const answer = openai(ask).chat.completions.stream(params, { signal: ask.signal })
  const deltas: Reasoning[] = []
  answer.on('chunk', chunk => void deltas.push((chunk.choices[0]?.delta ?? {}) as Reasoning))
  answer.on('content', () => ask.onText?.())
  const completion = await answer.finalChatCompletion()
  const reasoning = deltas.map(delta => delta.reasoning_content ?? '').join('')
  const details = deltas.flatMap(delta => delta.reasoning_details ?? [])
  return read(completion, {
    ...completion.choices[0]?.message,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(details.length > 0 && { reasoning_details: details }),
  })
}

function request({ model, conversation }: Ask): Request {
  const { system, turns, tools, toolChoice, schema, stop, effort, isUnstored, maxTokens } = conversation
  return {
    model,
    messages: [{ role: 'system', content: system }, ...turns.flatMap((turn, i) => encodeTurn(turn, turns[i - 1]))],
    max_completion_tokens: maxTokens,
    ...(tools && { tools: tools.map(tool => ({ type: 'function' as const, function: tool })) }),
    ...(toolChoice && { tool_choice: encodeToolChoice(toolChoice) }),
    ...(schema && { response_format: { type: 'json_schema', json_schema: schema } }),
    ...(stop && { stop: [...stop] }),
    ...(effort && { reasoning_effort: effort }),
    ...(isUnstored && { store: false }),
  } as Request
}

function encodeToolChoice(choice: ToolChoice): Request['tool_choice'] {
  return typeof choice === 'string' ? choice : { type: 'function', function: choice }
}

function encodeTurn(turn: Turn, before: Turn | undefined): Message[] {
  if (turn.by === 'user') {
    const text = { type: 'text' as const, text: turn.text }
    return [{ role: 'user', content: turn.images ? [text, ...turn.images.map(encodeImage)] : turn.text }]
  }
  if (turn.by === 'model')
    return ['echo' in turn ? (turn.echo.turn as Message) : { role: 'assistant', content: turn.text }]
  const calls = before && 'echo' in before ? before.echo.calls : []
  return turn.results.map((content, i) => ({ role: 'tool', tool_call_id: calls[i]?.id ?? '', content }))
}

function encodeImage(image: Image): OpenAI.Chat.ChatCompletionContentPartImage {
  const url = image.kind === 'url' ? image.url : `data:${image.mediaType};base64,${image.data}`
  return { type: 'image_url', image_url: { url } }
}

function read(completion: OpenAI.Chat.ChatCompletion, given: Partial<OpenAI.Chat.ChatCompletionMessage>): Answer {
  const message = given as Partial<OpenAI.Chat.ChatCompletionMessage> & Reasoning
  const { usage } = completion
  const input = usage?.prompt_tokens_details as Readonly<Record<string, number>> | undefined
  return {
    text: message.content ?? '',
    refusal: message.refusal ?? '',
    thinking: message.reasoning_content ?? '',
    seals: (message.reasoning_details ?? []).flatMap(
      ({ signature, data }) => [signature ?? data].flatMap(each => each ?? []) as string[],
    ),
    calls: (message.tool_calls ?? []).map(decodeCall),
    stop: completion.choices[0]?.finish_reason ?? '',
    usage: {
      input: usage?.prompt_tokens,
      cacheRead: input?.cached_tokens,
      cacheWrite: input?.cache_write_tokens,
      output: usage?.completion_tokens,
      reasoning: usage?.completion_tokens_details?.reasoning_tokens,
    },
    model: completion.model,
    turn: message,
  }
}

function decodeCall(call: OpenAI.Chat.ChatCompletionMessageToolCall): ToolCall & { id: string } {
  assert.equal(call.type, 'function')
  return { id: call.id, name: call.function.name, arguments: JSON.parse(call.function.arguments) }
}

interface Chunk {
  readonly id: string
  readonly created: number
  readonly model: string
  readonly choices: readonly {
    readonly delta: { readonly role?: string; readonly tool_calls?: readonly ToolFragment[] }
    readonly finish_reason: string | null
  }[]
  readonly usage?: unknown
}

interface ToolFragment {
  readonly index: number
  readonly id?: string
  readonly type?: string
  readonly function?: { readonly name?: string }
}

function assertOrder(frames: readonly Frame[]): void {
  assert.equal(frames.at(-1)?.data, '[DONE]')
  const chunks = frames.slice(0, -1).map(({ data }) => JSON.parse(data) as Chunk)
  for (const field of ['id', 'created', 'model'] as const) {
    assert.equal(new Set(chunks.map(chunk => chunk[field])).size, 1, `${field} is the same in all chunks`)
  }
  const choices = chunks.flatMap(chunk => chunk.choices)
  const roles = choices.map(({ delta }) => delta.role)
  assert.equal(roles[0], 'assistant')
  assert.ok(
    roles.slice(1).every(role => role === undefined),
    'the role stands in the first delta and in no other',
  )
  assert.deepEqual(choices.filter(({ finish_reason }) => finish_reason).length, 1, 'one chunk says why it ended')
  assert.ok(choices.at(-1)?.finish_reason, 'and nothing is said after it')
  const last = chunks.at(-1)
  assert.ok(last?.usage && last.choices.length === 0, 'the usage comes last and by itself')
  assertFragments(choices.flatMap(({ delta }) => delta.tool_calls ?? []))
}

/** Calls are numbered as they begin, and only the first fragment of each names it. */
function assertFragments(fragments: readonly ToolFragment[]): void {
  const begun = new Set<number>()
  for (const { index, id, type, function: called } of fragments) {
    if (!begun.has(index)) assert.equal(index, begun.size, 'calls are numbered from 0')
    const isFirst = !begun.has(index)
    begun.add(index)
    assert.equal(Boolean(id && type && called?.name), isFirst, 'the first fragment of a call, and no other, names it')
  }
}
