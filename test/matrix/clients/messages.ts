import assert from 'node:assert/strict'
import Anthropic from '@anthropic-ai/sdk'
import type { Answer, Image, ToolChoice, Turn } from '../conversation.ts'
import type { Frame } from '../frames.ts'
import type { Ask, Client, Raised } from './client.ts'

type Request = Anthropic.MessageCreateParamsNonStreaming

export const messages: Client = {
  format: 'messages',
  ask: (way, ask) => (way === 'whole' ? whole(ask) : stream(ask)),
  describe,
  assertOrder,
  midwayKind: 'APIError',
  stopWords: {
    end: 'end_turn',
    sequence: 'stop_sequence',
    calls: 'tool_use',
    length: 'max_tokens',
    context: 'model_context_window_exceeded',
    refusal: 'refusal',
  },
  counts: {
    input: 'always',
    output: 'always',
    cacheRead: 'where told',
    cacheWrite: 'where told',
    cacheWrite5m: 'where told',
    cacheWrite1h: 'where told',
    reasoning: 'where told',
  },
}

function anthropic({ baseUrl, apiKey, exchange }: Ask): Anthropic {
  return new Anthropic({ baseURL: baseUrl, apiKey, maxRetries: 0, fetch: exchange.fetch })
}

async function whole(ask: Ask): Promise<Answer> {
  return read(await anthropic(ask).messages.create(request(ask), { signal: ask.signal }))
}

async function stream(ask: Ask): Promise<Answer> {
  const answer = anthropic(ask).messages.stream(request(ask), { signal: ask.signal })
  answer.on('text', () => ask.onText?.())
  return read(await answer.finalMessage())
}

function request({ model, conversation }: Ask): Request {
  const { system, turns, tools, toolChoice, schema, stop, effort, maxTokens } = conversation
  const output = {
    ...(effort && { effort }),
    ...(schema && { format: { type: 'json_schema', schema: schema.schema } }),
  }
  return {
    model,
    system,
    messages: turns.map((turn, i) => encodeTurn(turn, turns[i - 1])),
    max_tokens: maxTokens,
    ...(tools && { tools: tools.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })) }),
    ...(toolChoice && { tool_choice: encodeToolChoice(toolChoice) }),
    ...(Object.keys(output).length > 0 && { output_config: output }),
    ...(effort && { thinking: { type: 'adaptive' } }),
    ...(stop && { stop_sequences: [...stop] }),
  } as Request
}

function encodeToolChoice(choice: ToolChoice): Anthropic.ToolChoice {
  if (typeof choice !== 'string') return { type: 'tool', name: choice.name }
  return { type: choice === 'required' ? 'any' : choice }
}

function encodeTurn(turn: Turn, before: Turn | undefined): Anthropic.MessageParam {
  if (turn.by === 'user') {
    const text = { type: 'text' as const, text: turn.text }
    return { role: 'user', content: turn.images ? [text, ...turn.images.map(encodeImage)] : turn.text }
  }
  if (turn.by === 'model') {
    return 'echo' in turn ? (turn.echo.turn as Anthropic.MessageParam) : { role: 'assistant', content: turn.text }
  }
  const calls = before && 'echo' in before ? before.echo.calls : []
  const results = turn.results.map((content, i) => ({
    type: 'tool_result' as const,
    tool_use_id: calls[i]?.id ?? '',
    content,
  }))
  return { role: 'user', content: results }
}

function encodeImage(image: Image): Anthropic.ImageBlockParam {
  if (image.kind === 'url') return { type: 'image', source: { type: 'url', url: image.url } }
  const { mediaType, data } = image
  return {
    type: 'image',
    source: { type: 'base64', media_type: mediaType as Anthropic.Base64ImageSource['media_type'], data },
  }
}

function read({ role, content, stop_reason, usage, model }: Anthropic.Message): Answer {
  const { cache_read_input_tokens: cacheRead, cache_creation_input_tokens: cacheWrite, cache_creation } = usage
  return {
    text: content.map(block => (block.type === 'text' ? block.text : '')).join(''),
    refusal: '',
    thinking: content.map(block => (block.type === 'thinking' ? block.thinking : '')).join(''),
    seals: content.flatMap(block => {
      if (block.type === 'thinking') return block.signature || []
      return block.type === 'redacted_thinking' ? block.data : []
    }),
    calls: content.flatMap(block =>
      block.type === 'tool_use' ? { id: block.id, name: block.name, arguments: block.input } : [],
    ),
    stop: stop_reason ?? '',
    usage: {
      input: usage.input_tokens + (cacheRead ?? 0) + (cacheWrite ?? 0),
      cacheRead: cacheRead ?? undefined,
      cacheWrite: cacheWrite ?? undefined,
      cacheWrite5m: cache_creation?.ephemeral_5m_input_tokens,
      cacheWrite1h: cache_creation?.ephemeral_1h_input_tokens,
      output: usage.output_tokens,
      reasoning: usage.output_tokens_details?.thinking_tokens,
    },
    model,
    turn: { role, content },
  }
}

function describe(error: unknown): Raised {
  if (!(error instanceof Anthropic.APIError)) {
    return { kind: String(error), status: undefined, code: undefined, message: '' }
  }
  const { status, type, message } = error
  return { kind: error.constructor.name, status, code: type ?? undefined, message }
}

interface Event {
  readonly type: string
  readonly index?: number
  readonly delta?: { readonly type?: string; readonly stop_reason?: string }
}

/** Blocks one after the other, each begun, filled and ended; then why it all ended; then the end. */
function assertOrder(frames: readonly Frame[]): void {
  const events = frames.map(({ event, data }) => {
    const decoded = JSON.parse(data) as Event
    assert.equal(event, decoded.type, 'the event is named as its data are')
    return decoded
  })
  const spoken = events.filter(({ type }) => type !== 'ping')
  assert.equal(spoken[0]?.type, 'message_start')
  assert.deepEqual(
    spoken.slice(-2).map(({ type }) => type),
    ['message_delta', 'message_stop'],
  )
  let open: number | undefined
  let begun = 0
  for (const { type, index } of spoken.slice(1, -2)) {
    if (type === 'content_block_start') {
      assert.equal(open, undefined, 'a block begins when the one before has ended')
      assert.equal(index, begun)
      open = begun
      begun += 1
    } else {
      assert.ok(type === 'content_block_delta' || type === 'content_block_stop', type)
      assert.equal(index, open)
      if (type === 'content_block_stop') open = undefined
    }
  }
  assert.equal(open, undefined, 'all blocks have ended')
}
