import { completion, DONE, event, type Script, USAGE } from './upstream.ts'

type Json = Record<string, unknown>

export const FORMATS = ['chat-completions', 'messages', 'responses', 'generate-content'] as const
export type Format = (typeof FORMATS)[number]

/** What an upstream's model calls: the tool that it was told of first. */
export interface Calling {
  readonly id: string
  /** JSON of a function's arguments, or a custom tool's text. */
  readonly written: string
}

interface Called extends Calling {
  readonly name: string
  readonly isCustom: boolean
}

/** One upstream for all four formats, each at its own path, that answers every request with a call of a tool. */
export function answerCalling({ calling }: { calling: Calling }): Script {
  return ({ path, body }, response) => {
    const format = formatOf(path)
    const called = { ...calling, ...firstTool(body) }
    const isStream = body.stream === true || path.includes(':stream')
    response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json')
    response.end(isStream ? STREAMS[format](called) : JSON.stringify(ANSWERS[format](called)))
  }
}

export function formatOf(path: string): Format {
  if (path.endsWith('/chat/completions')) return 'chat-completions'
  if (path.endsWith('/messages')) return 'messages'
  return path.endsWith('/responses') ? 'responses' : 'generate-content'
}

/** In whatever format a tool is told of, its name stands beside its type or one level below. */
function firstTool({ tools }: Json): { name: string; isCustom: boolean } {
  const [tool = {}] = (tools ?? []) as Json[]
  const [declaration] = (tool.functionDeclarations ?? [tool.function ?? tool.custom ?? tool]) as Json[]
  return { name: String(declaration?.name), isCustom: tool.type === 'custom' }
}

function chatCall({ id, name, written, isCustom }: Called): Json {
  return isCustom
    ? { id, type: 'custom', custom: { name, input: written } }
    : { id, type: 'function', function: { name, arguments: written } }
}

function responseItem({ id, name, written, isCustom }: Called): Json {
  const call = { call_id: id, name, status: 'completed' }
  return isCustom
    ? { type: 'custom_tool_call', id: 'ctc_1', ...call, input: written }
    : { type: 'function_call', id: 'fc_1', ...call, arguments: written }
}

const TOKENS = { input_tokens: 10, output_tokens: 5 }
const HEADS = {
  responses: { id: 'resp_1', object: 'response', created_at: 1_700_000_000, model: 'upstream-model' },
  messages: { id: 'msg_1', type: 'message', role: 'assistant', model: 'upstream-model' },
} as const

const ANSWERS: Readonly<Record<Format, (called: Called) => Json>> = {
  'chat-completions': called =>
    completion({
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: null, refusal: null, tool_calls: [chatCall(called)] },
          logprobs: null,
          finish_reason: 'tool_calls',
        },
      ],
    }),
  responses: called => ({
    ...HEADS.responses,
    status: 'completed',
    output: [responseItem(called)],
    usage: { ...TOKENS, total_tokens: 15 },
  }),
  messages: ({ id, name, written }) => ({
    ...HEADS.messages,
    content: [{ type: 'tool_use', id, name, input: JSON.parse(written) }],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: TOKENS,
  }),
  'generate-content': ({ name, written }) => ({
    candidates: [
      {
        content: { role: 'model', parts: [{ functionCall: { name, args: JSON.parse(written) } }] },
        finishReason: 'STOP',
        index: 0,
      },
    ],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
    modelVersion: 'upstream-model',
    responseId: 'r1',
  }),
}

/** Small enough to cut escapes in two. */
const PIECE_CHARACTERS = 3

function piecesOf(text: string): string[] {
  return text.match(new RegExp(`[^]{1,${PIECE_CHARACTERS}}`, 'g')) ?? []
}

function named({ type, ...fields }: Json): string {
  return `event: ${type}\n${event({ type, ...fields })}`
}

const STREAMS: Readonly<Record<Format, (called: Called) => string>> = {
  'chat-completions': called => {
    const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'upstream-model' }
    const chunk = (delta: Json, finish_reason: string | null = null) =>
      event({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason }] })
    const delta = (text: string) => (called.isCustom ? { custom: { input: text } } : { function: { arguments: text } })
    return [
      chunk({ role: 'assistant', tool_calls: [{ index: 0, ...chatCall({ ...called, written: '' }) }] }),
      ...piecesOf(called.written).map(text => chunk({ tool_calls: [{ index: 0, ...delta(text) }] })),
      chunk({}, 'tool_calls'),
      event({ ...head, choices: [], usage: USAGE }),
      DONE,
    ].join('')
  },
  responses: called => {
    const item = responseItem(called)
    const place = { item_id: item.id, output_index: 0 }
    const type = called.isCustom ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
    const whole = called.isCustom ? { input: called.written } : { name: called.name, arguments: called.written }
    const response = { ...HEADS.responses, status: 'in_progress', output: [] }
    const events: Json[] = [
      { type: 'response.created', response },
      { type: 'response.output_item.added', output_index: 0, item: responseItem({ ...called, written: '' }) },
      ...piecesOf(called.written).map(delta => ({ type: `${type}.delta`, ...place, delta })),
      { type: `${type}.done`, ...place, ...whole },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: ANSWERS.responses(called) },
    ]
    return events.map((each, sequence_number) => named({ ...each, sequence_number })).join('')
  },
  messages: ({ id, name, written }) => {
    const deltas = piecesOf(written).map(partial_json => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json },
    }))
    const message = { ...HEADS.messages, content: [], stop_reason: null, stop_sequence: null, usage: TOKENS }
    const events: Json[] = [
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id, name, input: {} } },
      ...deltas,
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: TOKENS },
      { type: 'message_stop' },
    ]
    return events.map(named).join('')
  },
  'generate-content': called => event(ANSWERS['generate-content'](called)),
}
