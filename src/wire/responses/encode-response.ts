import type { Part, RefusalPart, TextPart } from '#core/call.ts'
import type { Choice, Result, TokenLogprob } from '#core/result.ts'
import type { AnswerContext } from '../format.ts'
import { FORMAT, type Json, ownFields } from './decode-item.ts'
import { encodeCitation, encodeImage, encodeLogprobs, encodeReasoning, encodeToolCall, itemId } from './encode-item.ts'
import { encodeFinish } from './finish-reason.ts'
import { encodeUsage } from './usage.ts'

/** What every response has, even when nobody said anything about it: typed clients read these without asking. */
const REQUIRED_FIELDS: Json = Object.freeze({
  instructions: null,
  metadata: {},
  parallel_tool_calls: true,
  temperature: null,
  tool_choice: 'auto',
  tools: [],
  top_p: null,
})

/** What a response repeats of its request beside them, where the request has it. */
const REPEATED_FIELDS = [
  'background',
  'max_output_tokens',
  'max_tool_calls',
  'previous_response_id',
  'prompt_cache_key',
  'reasoning',
  'safety_identifier',
  'store',
  'text',
  'top_logprobs',
  'truncation',
  'user',
]

/** neutral → client (see `WireFormat`). */
export function encodeResponse(result: Result, context: AnswerContext): Record<string, unknown> {
  // A request of this format asks for one answer and no more.
  const choice: Choice = result.choices[0] ?? { index: 0, parts: [], finish: { reason: 'other', raw: undefined } }
  const ending = encodeFinish(choice.finish)
  const id = context.stated?.id ?? result.id
  return {
    ...responseHead({ id, createdAt: result.createdAt }, context),
    ...ending,
    output: encodeOutput(choice, id, itemStatus(ending)),
    usage: result.usage ? encodeUsage(result.usage) : null,
    ...(result.serviceTier !== undefined && { service_tier: result.serviceTier }),
    ...result.extensions[FORMAT],
    ...context.stated,
  }
}

/** The fields that a response has from its first moment on. */
export function responseHead({ id, createdAt }: Pick<Result, 'id' | 'createdAt'>, context: AnswerContext): Json {
  const { publicModel, request = {} } = context
  const names = [...Object.keys(REQUIRED_FIELDS), ...REPEATED_FIELDS]
  const repeated = names.filter(name => (request[name] ?? null) !== null).map(name => [name, request[name]])
  const head = { id, object: 'response', created_at: createdAt, model: publicModel }
  return { ...head, ...REQUIRED_FIELDS, ...Object.fromEntries(repeated) }
}

/** The state of the message with which an answer of that ending breaks off. */
export function itemStatus(ending: Json): 'completed' | 'incomplete' {
  return ending.status === 'completed' ? 'completed' : 'incomplete'
}

function encodeOutput(choice: Choice, responseId: string, lastStatus: string): Json[] {
  const items: Json[] = []
  let logprobs = choice.logprobs ?? []
  let wasMessage = false
  for (const part of choice.parts) {
    const content = encodeContentPart(part, logprobs)
    const item = content ? messageItem(part as TextPart | RefusalPart, [content]) : encodeItem(part)
    if (!item) continue
    // Which part they belong to is known of the answer's text as a whole only.
    if (part.type === 'text') logprobs = []
    const previous = items.at(-1)
    if (content && wasMessage && previous && isSameMessage(previous, item)) {
      items[items.length - 1] = { ...previous, content: [...(previous.content as Json[]), content] }
    } else items.push(item)
    wasMessage = content !== undefined
  }
  return items.map((item, index) => {
    const status = index === items.length - 1 && item.type === 'message' ? lastStatus : 'completed'
    return finishItem(item, itemId(responseId, String(item.type), index), status)
  })
}

/** Texts and refusals that follow each other are parts of one message, unless something sets their messages apart. */
function isSameMessage(a: Json, b: Json): boolean {
  return JSON.stringify({ ...a, content: [] }) === JSON.stringify({ ...b, content: [] })
}

export function messageItem(part: Pick<TextPart, 'extensions'>, content: readonly Json[]): Json {
  return { ...(ownFields(part).item as Json | undefined), type: 'message', role: 'assistant', content }
}

/** Types of items that come from neutral parts; any other item goes on as it came. */
const STATED: ReadonlyMap<unknown, boolean> = new Map([
  ['message', true],
  ['function_call', true],
  ['custom_tool_call', true],
  ['image_generation_call', true],
  ['reasoning', false],
])

/** With the id and, where the type has one, the state that every item of an answer has. */
export function finishItem(item: Json, id: string, status: string): Json {
  const isStated = STATED.get(item.type)
  return isStated === undefined ? item : { id, ...item, ...(isStated && { status }) }
}

function encodeContentPart(part: Part, logprobs: readonly TokenLogprob[]): Json | undefined {
  if (part.type === 'refusal') {
    const { item: _, ...fields } = ownFields(part)
    return { ...fields, type: 'refusal', refusal: part.text }
  }
  if (part.type === 'text') return outputText(part, logprobs)
  // A spoken answer has no place here, but what it says does.
  if (part.type === 'audio' && part.transcript) return outputText({ type: 'text', text: part.transcript }, [])
  return undefined
}

/** Annotations and log probabilities stand even when empty: typed clients read them without asking. */
export function outputText(part: TextPart, logprobs: readonly TokenLogprob[]): Json {
  const { item: _, annotations, ...fields } = ownFields(part)
  const others = Array.isArray(annotations) ? annotations : []
  return {
    ...fields,
    type: 'output_text',
    text: part.text,
    annotations: [...(part.citations ?? []).map(encodeCitation), ...others],
    logprobs: encodeLogprobs(logprobs),
  }
}

function encodeItem(part: Part): Json | undefined {
  if (part.type === 'reasoning') return encodeReasoning(part)
  if (part.type === 'tool-call') return encodeToolCall(part)
  return encodeWhole(part)
}

/** The item of a part that comes whole; `undefined` for one that the format has no item for. */
export function encodeWhole(part: Part): Json | undefined {
  if (part.type === 'image') return encodeImage(part)
  return part.type === 'opaque' && part.format === FORMAT ? (part.value as Json) : undefined
}
