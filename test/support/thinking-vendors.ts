import type http from 'node:http'
import type { FormatName } from '#wire/format.ts'
import type { Script, SeenRequest } from './upstream.ts'

type Json = Record<string, unknown>

/**
 * Vendors whose models think, seal what they thought, and refuse a conversation as the real ones do: with a seal that
 * is not theirs, or without the one that they want back in a tool loop. Asked for the weather they call two tools.
 */
export interface Vendor {
  readonly format: FormatName
  readonly path: RegExp
  /** Each in the turn that calls tools. */
  readonly seals: readonly string[]
  /** What is wrong with a request. */
  check(body: Json): string | undefined
  /** An answer's body, and its stream as frames; with calls of tools, or else with words alone. */
  answer(callsTools: boolean): Json
  stream(callsTools: boolean): readonly string[]
}

export const THOUGHT = 'They want to know about two cities.'
export const WORDS = 'It rains in both.'
const CITIES = ['Bern', 'Basel']

const seal = (text: string) => Buffer.from(`${text} sealed it`).toString('base64')

/** Answers as the vendor whose path is asked, or refuses. */
export function playVendors(vendors: readonly Vendor[]): Script {
  return (request, response) => {
    const vendor = vendors.find(({ path }) => path.test(request.path))
    const problem = vendor ? wrongWith(vendor, vendors, request) : 'no such path'
    if (!vendor || problem) return refuse(response, problem ?? '')
    const callsTools = /the weather in/.test(lastWords(request.body))
    if (request.body.stream !== true && !request.path.includes('stream')) {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(vendor.answer(callsTools)))
      return
    }
    response.setHeader('content-type', 'text/event-stream')
    for (const frame of vendor.stream(callsTools)) response.write(frame)
    response.end()
  }
}

function refuse(response: http.ServerResponse, message: string): void {
  response.writeHead(400, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', code: 400, message } }))
}

function wrongWith(vendor: Vendor, vendors: readonly Vendor[], { text, body }: SeenRequest): string | undefined {
  const foreign = vendors.find(other => other !== vendor && other.seals.some(each => text.includes(each)))
  if (foreign) return `a seal of ${foreign.format}`
  if (text.includes(Buffer.from('tollgate:').toString('base64'))) return 'a seal of nobody'
  return vendor.check(body)
}

/** The newest thing that was said to the model. */
function lastWords(body: Json): string {
  const turns = (body.messages ?? body.contents ?? body.input) as unknown
  return JSON.stringify(Array.isArray(turns) ? turns.at(-1) : turns)
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? (value as Json[]) : []
}

const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const named = (value: { readonly type: string } & Json) => `event: ${value.type}\n${data(value)}`

const chatSeals = { thought: seal('OpenRouter'), call: seal('Gemini for chat') }
const chatDetail = { type: 'reasoning.text', text: THOUGHT, signature: chatSeals.thought, format: 'vendor', index: 0 }

function chatCalls(): Json[] {
  return CITIES.map((city, index) => ({
    id: `call_${index}`,
    type: 'function',
    function: { name: 'get_weather', arguments: JSON.stringify({ city }) },
    ...(index === 0 && { extra_content: { google: { thought_signature: chatSeals.call } } }),
  }))
}

export const chatVendor: Vendor = {
  format: 'chat-completions',
  path: /\/chat\/completions$/,
  seals: Object.values(chatSeals),
  check: ({ messages }) => {
    const details = list(messages).flatMap(message => list(message.reasoning_details))
    if (details.some(({ signature, format }) => signature !== chatSeals.thought || format !== 'vendor')) {
      return 'a thought that is not ours'
    }
    const calls = list(messages).flatMap(message => list(message.tool_calls))
    return calls.some(({ extra_content: extra }) => extra && !JSON.stringify(extra).includes(chatSeals.call))
      ? 'a call that is not sealed by us'
      : undefined
  },
  answer: callsTools => {
    const said = callsTools
      ? { content: null, reasoning: THOUGHT, reasoning_details: [chatDetail], tool_calls: chatCalls() }
      : { content: WORDS }
    const finish_reason = callsTools ? 'tool_calls' : 'stop'
    const choices = [{ index: 0, message: { role: 'assistant', ...said }, finish_reason }]
    return { id: 'c1', object: 'chat.completion', created: 1, model: 'm', choices }
  },
  stream: callsTools => {
    const chunk = (delta: Json, finish_reason: string | null = null) =>
      data({
        id: 'c1',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [{ index: 0, delta, finish_reason }],
      })
    const { signature, text: _, ...entry } = chatDetail
    const deltas: Json[] = callsTools
      ? [
          ...THOUGHT.split(/(?= )/).map(text => ({ reasoning: text, reasoning_details: [{ ...entry, text }] })),
          { reasoning_details: [{ ...entry, signature }] },
          ...chatCalls().map((call, index) => ({ tool_calls: [{ index, ...call }] })),
        ]
      : [{ content: WORDS }]
    const opening = chunk({ role: 'assistant', content: '' })
    return [opening, ...deltas.map(d => chunk(d)), chunk({}, callsTools ? 'tool_calls' : 'stop'), 'data: [DONE]\n\n']
  },
}

const messageSeals = { signature: seal('Anthropic'), data: seal('Anthropic in secret') }

function messageBlocks(): Json[] {
  return [
    { type: 'thinking', thinking: THOUGHT, signature: messageSeals.signature },
    { type: 'redacted_thinking', data: messageSeals.data },
    { type: 'text', text: 'Let me see.' },
    ...CITIES.map((city, index) => ({ type: 'tool_use', id: `toolu_${index}`, name: 'get_weather', input: { city } })),
  ]
}

export const messagesVendor: Vendor = {
  format: 'messages',
  path: /\/messages$/,
  seals: Object.values(messageSeals),
  check: ({ messages, thinking }) => {
    const turns = list(messages)
    const isThought = ({ type }: Json) => type === 'thinking' || type === 'redacted_thinking'
    const ours = messageBlocks()
      .slice(0, 2)
      .map(block => JSON.stringify(block))
    const thoughts = turns.flatMap(({ content }) => list(content).filter(isThought))
    const foreign = thoughts.find(({ type, ...fields }) => !ours.includes(JSON.stringify({ type, ...fields })))
    if (foreign) return `not a block of ours: ${JSON.stringify(foreign)}`
    const isOn = thinking !== undefined && (thinking as Json).type !== 'disabled'
    const isLoop = list(turns.at(-1)?.content).some(({ type }) => type === 'tool_result')
    const [first] = list(turns.findLast(({ role }) => role === 'assistant')?.content)
    return isOn && isLoop && !(first && isThought(first)) ? 'the last turn must start with a thinking block' : undefined
  },
  answer: callsTools => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: callsTools ? messageBlocks() : [{ type: 'text', text: WORDS }],
    stop_reason: callsTools ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  }),
  stream: callsTools => {
    const { content, stop_reason, ...message } = messagesVendor.answer(callsTools)
    const blocks = list(content).flatMap((block, index) => {
      const [opened, ...deltas] = blockEvents(block)
      return [
        named({ type: 'content_block_start', index, content_block: opened }),
        ...deltas.map(delta => named({ type: 'content_block_delta', index, delta })),
        named({ type: 'content_block_stop', index }),
      ]
    })
    return [
      named({ type: 'message_start', message: { ...message, content: [], stop_reason: null } }),
      ...blocks,
      named({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } }),
      named({ type: 'message_stop' }),
    ]
  },
}

/** A block as it begins, and its deltas. */
function blockEvents(block: Json): Json[] {
  switch (block.type) {
    case 'thinking':
      return [
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: block.thinking },
        { type: 'signature_delta', signature: block.signature },
      ]
    case 'text':
      return [
        { type: 'text', text: '' },
        { type: 'text_delta', text: block.text },
      ]
    case 'tool_use':
      return [
        { ...block, input: {} },
        { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
      ]
    default:
      return [block]
  }
}

const responseSeal = seal('OpenAI')

function responseItems(callsTools: boolean): Json[] {
  const text = { type: 'output_text', text: WORDS, annotations: [] }
  if (!callsTools) return [{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [text] }]
  const summary = [{ type: 'summary_text', text: THOUGHT }]
  const calls = CITIES.map((city, index) => ({
    id: `fc_${index}`,
    type: 'function_call',
    status: 'completed',
    call_id: `call_${index}`,
    name: 'get_weather',
    arguments: JSON.stringify({ city }),
  }))
  return [{ id: 'rs_1', type: 'reasoning', summary, encrypted_content: responseSeal }, ...calls]
}

export const responsesVendor: Vendor = {
  format: 'responses',
  path: /\/responses$/,
  seals: [responseSeal],
  check: ({ input }) => {
    const items = list(input)
    const thoughts = items.filter(({ type }) => type === 'reasoning')
    if (thoughts.some(each => each.encrypted_content !== responseSeal)) return 'a reasoning item that is not ours'
    const isAlone = ({ type }: Json, index: number) =>
      type === 'reasoning' && items[index + 1]?.type !== 'function_call' && items[index + 1]?.type !== 'message'
    return items.some(isAlone) ? 'a reasoning item without the item that follows it' : undefined
  },
  answer: callsTools => ({
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'm',
    status: 'completed',
    output: responseItems(callsTools),
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  }),
  stream: callsTools => {
    const response = responsesVendor.answer(callsTools)
    const started = { ...response, status: 'in_progress', output: [], usage: null }
    const events = [
      { type: 'response.created', response: started },
      ...list(response.output).flatMap((item, output_index) => itemEvents(item, output_index)),
      { type: 'response.completed', response },
    ]
    return events.map((event, sequence_number) => named({ ...event, sequence_number }))
  },
}

function itemEvents(item: Json, output_index: number): ({ readonly type: string } & Json)[] {
  const at = { output_index, item_id: item.id }
  const added = (fields: Json) => ({ type: 'response.output_item.added', output_index, item: { ...item, ...fields } })
  const done = { type: 'response.output_item.done', output_index, item }
  if (item.type === 'reasoning') {
    const part = { type: 'summary_text', text: THOUGHT }
    const place = { ...at, summary_index: 0 }
    return [
      added({ summary: [], encrypted_content: null }),
      { type: 'response.reasoning_summary_part.added', ...place, part: { ...part, text: '' } },
      { type: 'response.reasoning_summary_text.delta', ...place, delta: THOUGHT },
      { type: 'response.reasoning_summary_text.done', ...place, text: THOUGHT },
      { type: 'response.reasoning_summary_part.done', ...place, part },
      done,
    ]
  }
  if (item.type === 'function_call') {
    return [
      added({ arguments: '' }),
      { type: 'response.function_call_arguments.delta', ...at, delta: item.arguments },
      { type: 'response.function_call_arguments.done', ...at, name: item.name, arguments: item.arguments },
      done,
    ]
  }
  const [part] = list(item.content)
  const place = { ...at, content_index: 0 }
  return [
    added({ content: [] }),
    { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...place, delta: WORDS, logprobs: [] },
    { type: 'response.output_text.done', ...place, text: WORDS, logprobs: [] },
    { type: 'response.content_part.done', ...place, part },
    done,
  ]
}

const contentSeals = { call: seal('Gemini'), text: seal('Gemini, at the end') }
const PLACEHOLDER = 'skip_thought_signature_validator'

function contentParts(callsTools: boolean): Json[] {
  if (!callsTools) return [{ text: WORDS }, { text: '', thoughtSignature: contentSeals.text }]
  const calls = CITIES.map((city, index) => ({
    functionCall: { id: `fn_${index}`, name: 'get_weather', args: { city } },
    ...(index === 0 && { thoughtSignature: contentSeals.call }),
  }))
  return [{ text: THOUGHT, thought: true }, ...calls]
}

export const contentVendor: Vendor = {
  format: 'generate-content',
  path: /GenerateContent|:generateContent/,
  seals: [contentSeals.call],
  check: ({ contents }) => {
    const known = new Set<unknown>([...Object.values(contentSeals), PLACEHOLDER])
    for (const { role, parts } of list(contents)) {
      const foreign = list(parts).find(part => 'thoughtSignature' in part && !known.has(part.thoughtSignature))
      if (foreign) return `not a signature of ours: ${JSON.stringify(foreign)}`
      const call = list(parts).find(part => 'functionCall' in part)
      if (role === 'model' && call && !('thoughtSignature' in call)) return 'a function call without its signature'
    }
    return undefined
  },
  answer: callsTools => contentAnswer(contentParts(callsTools), { finishReason: 'STOP' }),
  stream: callsTools => {
    const parts = contentParts(callsTools)
    return parts.map((part, i) => data(contentAnswer([part], i === parts.length - 1 ? { finishReason: 'STOP' } : {})))
  },
}

function contentAnswer(parts: readonly Json[], fields: Json): Json {
  const candidates = [{ index: 0, content: { role: 'model', parts }, ...fields }]
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 }
  return { responseId: 'r1', modelVersion: 'm', candidates, usageMetadata }
}
