import assert from 'node:assert/strict'
import type OpenAI from 'openai'
import type { Answer, Image, ToolChoice, Turn } from '../conversation.ts'
import type { Frame } from '../frames.ts'
import type { Ask, Client } from './client.ts'
import { describeError, openai } from './openai.ts'

type Request = OpenAI.Responses.ResponseCreateParamsNonStreaming
type Item = OpenAI.Responses.ResponseInputItem
type Response = OpenAI.Responses.Response

export const responses: Client = {
  format: 'responses',
  ask: (way, ask) => (way === 'whole' ? whole(ask) : stream(ask)),
  describe: describeError,
  assertOrder,
  midwayKind: 'APIError',
  stopWords: {
    end: 'completed',
    sequence: 'completed',
    calls: 'completed',
    length: 'incomplete: max_output_tokens',
    context: 'incomplete: max_output_tokens',
    refusal: 'incomplete: content_filter',
  },
  counts: {
    input: 'always',
    output: 'always',
    cacheRead: 'always',
    cacheWrite: 'where told',
    reasoning: 'always',
  },
}

async function whole(ask: Ask): Promise<Answer> {
  return read(await openai(ask).responses.create(request(ask), { signal: ask.signal }))
}

async function stream(ask: Ask): Promise<Answer> {
  const { stream: _, ...params } = request(ask)
  const answer = openai(ask).responses.stream(params, { signal: ask.signal })
  answer.on('response.output_text.delta', () => ask.onText?.())
  return read(await answer.finalResponse())
}

/** The whole history is sent each time, thoughts sealed with it. */
function request({ model, conversation }: Ask): Request {
  const { system, turns, tools, toolChoice, schema, effort, isUnstored, maxTokens } = conversation
  return {
    model,
    instructions: system,
    input: turns.flatMap((turn, i) => encodeTurn(turn, turns[i - 1])),
    max_output_tokens: maxTokens,
    ...(isUnstored && { store: false }),
    ...(tools && { tools: tools.map(tool => ({ type: 'function' as const, ...tool, strict: false })) }),
    ...(toolChoice && { tool_choice: encodeToolChoice(toolChoice) }),
    ...(schema && { text: { format: { type: 'json_schema', ...schema } } }),
    ...(effort && { reasoning: { effort, summary: 'auto' }, include: ['reasoning.encrypted_content'] }),
  } as Request
}

function encodeToolChoice(choice: ToolChoice): Request['tool_choice'] {
  return typeof choice === 'string' ? choice : { type: 'function', name: choice.name }
}

function encodeTurn(turn: Turn, before: Turn | undefined): Item[] {
  if (turn.by === 'user') {
    const text = { type: 'input_text' as const, text: turn.text }
    return [{ role: 'user', content: turn.images ? [text, ...turn.images.map(encodeImage)] : turn.text }]
  }
  if (turn.by === 'model')
    return 'echo' in turn ? (turn.echo.turn as Item[]) : [{ role: 'assistant', content: turn.text }]
  const calls = before && 'echo' in before ? before.echo.calls : []
  return turn.results.map((output, i) => ({ type: 'function_call_output', call_id: calls[i]?.id ?? '', output }))
}

function encodeImage(image: Image): OpenAI.Responses.ResponseInputImage {
  const url = image.kind === 'url' ? image.url : `data:${image.mediaType};base64,${image.data}`
  return { type: 'input_image', image_url: url, detail: 'auto' }
}

function read(response: Response): Answer {
  const { output, status, incomplete_details, usage, model } = response
  const input = usage?.input_tokens_details as Readonly<Record<string, number>> | undefined
  const content = output.flatMap(item => (item.type === 'message' ? item.content : []))
  const reasoning = output.filter(item => item.type === 'reasoning')
  return {
    text: response.output_text,
    refusal: content.map(part => (part.type === 'refusal' ? part.refusal : '')).join(''),
    thinking: reasoning.flatMap(({ summary }) => summary.map(({ text }) => text)).join(''),
    seals: reasoning.flatMap(({ encrypted_content }) => encrypted_content ?? []),
    calls: output.flatMap(item =>
      item.type === 'function_call' ? { id: item.call_id, name: item.name, arguments: JSON.parse(item.arguments) } : [],
    ),
    stop: incomplete_details?.reason ? `${status}: ${incomplete_details.reason}` : (status ?? ''),
    usage: {
      input: usage?.input_tokens,
      cacheRead: input?.cached_tokens,
      cacheWrite: input?.cache_write_tokens,
      output: usage?.output_tokens,
      reasoning: usage?.output_tokens_details?.reasoning_tokens,
    },
    model,
    turn: output,
  }
}

interface Event {
  readonly type: string
  readonly sequence_number: number
  readonly output_index?: number
  readonly item_id?: string
  readonly item?: Item & { readonly id?: string }
  readonly response?: Response
}

/** The events of an item stand between its beginning and its end, and the last event repeats all items. */
function assertOrder(frames: readonly Frame[]): void {
  const events = frames
    .filter(({ data }) => data !== '[DONE]')
    .map(({ event, data }) => {
      const decoded = JSON.parse(data) as Event
      assert.equal(event, decoded.type, 'the event is named as its data are')
      return decoded
    })
  const numbers = events.map(each => each.sequence_number)
  assert.deepEqual(
    numbers,
    [...numbers].sort((a, b) => a - b),
  )
  assert.equal(new Set(numbers).size, numbers.length, 'events are numbered')
  assert.equal(events[0]?.type, 'response.created')
  const last = events.at(-1)
  assert.match(last?.type ?? '', /^response\.(completed|incomplete)$/)
  const done: unknown[] = []
  const open = new Map<number, string | undefined>()
  for (const { type, output_index: index = -1, item_id, item } of events) {
    if (type === 'response.output_item.added') {
      assert.equal(index, open.size + done.length, 'items are numbered')
      open.set(index, item?.id)
    } else if (type === 'response.output_item.done') {
      assert.equal(item?.id, open.get(index), 'an item keeps its id')
      assert.ok(open.delete(index))
      done[index] = item
    } else if (index !== -1) {
      assert.ok(open.has(index), `${type} belongs to an item under way`)
      if (item_id !== undefined) assert.equal(item_id, open.get(index))
    }
  }
  assert.equal(open.size, 0, 'all items have ended')
  assert.deepEqual(last?.response?.output, done)
}
