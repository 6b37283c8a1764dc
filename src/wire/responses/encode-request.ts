import type { Call, Message, OutputFormat, Part, Source, Tool, ToolChoice, ToolResultPart } from '#core/call.ts'
import type { Target } from '#core/work.ts'
import { encodeUrl } from '../data-url.ts'
import type { EncodedRequest } from '../format.ts'
import { isObject } from '../json/parse.ts'
import { FORMAT, type Json, ownFields } from './decode-item.ts'
import { INCLUDE_LOGPROBS } from './decode-request.ts'
import { encodeCitation, encodeReasoning, encodeToolCall } from './encode-item.ts'

/** What is known while the parts of a call are written. */
interface Context {
  readonly warn: (what: string) => void
  /** Ids of custom tools' calls: their results are items of another type. */
  readonly customCalls: ReadonlySet<string>
}

/** neutral → upstream (see `WireFormat`). */
export function encodeRequest(call: Call, target: Target): EncodedRequest {
  const warnings = new Set<string>()
  const warn = (what: string) => warnings.add(`${what} has no equivalent in ${FORMAT}`)
  for (const [field, isLost] of LOST_FIELDS) if (isLost(call)) warn(field)
  warnOfForeignFields(call, warn)
  const context: Context = { warn, customCalls: customCallIds(call) }
  const own = ownFields(call)
  const isForeign = call.extensions[FORMAT] === undefined
  const { instructions, messages } = takeInstructions(call.messages)
  const body = withoutUndefined({
    // The whole history comes with each call of another format, so nothing need be stored for the next one.
    ...(isForeign && { store: false }),
    ...own,
    model: target.upstreamModel,
    instructions,
    input: messages.flatMap(message => encodeMessage(message, context)),
    include: encodeInclude(call, own.include, isForeign),
    tools: call.tools?.flatMap(tool => encodeTool(tool, isForeign, warn)),
    tool_choice: call.toolChoice ? encodeToolChoice(call.toolChoice, call.tools ?? []) : own.tool_choice,
    parallel_tool_calls: call.parallelToolCalls,
    text: mergedObject(own.text, { format: call.output && encodeOutputFormat(call.output), verbosity: call.verbosity }),
    max_output_tokens: call.maxOutputTokens,
    temperature: call.temperature,
    top_p: call.topP,
    top_logprobs: call.topLogprobs,
    reasoning: mergedObject(own.reasoning, { effort: call.reasoning?.effort }),
    prompt_cache_key: call.cacheKey,
    safety_identifier: call.endUser,
    metadata: call.metadata,
    service_tier: call.serviceTier,
    stream: call.isStream || undefined,
  })
  return { body, warnings: [...warnings] }
}

type Warn = Context['warn']

/** Neutral fields that this format cannot say, under the names that clients know. */
const LOST_FIELDS: readonly (readonly [string, (call: Call) => boolean])[] = [
  ['top_k', call => call.topK !== undefined],
  ['presence_penalty', call => call.presencePenalty !== undefined],
  ['frequency_penalty', call => call.frequencyPenalty !== undefined],
  ['seed', call => call.seed !== undefined],
  ['stop', call => call.stop !== undefined && call.stop.length > 0],
  ['n', call => call.choices !== undefined && call.choices > 1],
  ['modalities', call => call.modalities?.some(each => each !== 'text') === true],
  ['audio', call => call.audioOutput !== undefined],
  ['a reasoning budget', call => call.reasoning?.budgetTokens !== undefined],
]

function allParts(call: Call): Part[] {
  const parts = call.messages.flatMap(message => message.parts)
  return [...parts, ...parts.flatMap(part => (part.type === 'tool-result' ? part.parts : []))]
}

function warnOfForeignFields(call: Call, warn: Warn): void {
  for (const owner of [call, ...(call.tools ?? []), ...allParts(call)]) {
    for (const [format, fields] of Object.entries(('extensions' in owner && owner.extensions) || {})) {
      if (format !== FORMAT) for (const field of Object.keys(fields)) warn(field)
    }
    if ('cache' in owner && owner.cache) warn('cache_control')
  }
}

function customCallIds(call: Call): Set<string> {
  return new Set(allParts(call).flatMap(part => (part.type === 'tool-call' && part.kind === 'custom' ? part.id : [])))
}

/** A system prompt in front is what `instructions` are; any other one keeps its place among the items. */
function takeInstructions(messages: readonly Message[]) {
  const [first, ...rest] = messages
  const [part, second] = first?.parts ?? []
  const isPlain = first?.role === 'system' && !first.name && second === undefined && part?.type === 'text'
  return isPlain && !part.extensions ? { instructions: part.text, messages: rest } : { messages }
}

/** Reasoning that another format's client is to send back must come sealed, since nothing is stored. */
function encodeInclude(call: Call, own: unknown, isForeign: boolean): unknown {
  const include: unknown[] = Array.isArray(own) ? [...own] : []
  if (call.topLogprobs !== undefined) include.push(INCLUDE_LOGPROBS)
  const isThinking = call.reasoning !== undefined && call.reasoning.effort !== 'none'
  if (isForeign && isThinking) include.push('reasoning.encrypted_content')
  return include.length === 0 ? undefined : include
}

function mergedObject(own: unknown, fields: Json): Json | undefined {
  const merged = withoutUndefined({ ...(isObject(own) ? own : {}), ...fields })
  return Object.keys(merged).length === 0 ? undefined : merged
}

function withoutUndefined(fields: Json): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** One item for each run of content, and one for each part that is an item of its own, in their order. */
function encodeMessage(message: Message, context: Context): Json[] {
  if (message.name !== undefined) context.warn('name')
  const items: Json[] = []
  let run: Json[] = []
  let runFields = ''
  const endRun = () => {
    if (run.length > 0) items.push(encodeContentItem(message.role, run, JSON.parse(runFields)))
    run = []
  }
  for (const part of message.parts) {
    const item = encodeItem(part, message.role, context)
    if (item) {
      endRun()
      items.push(item)
      continue
    }
    const fields = JSON.stringify('extensions' in part ? (ownFields(part).item ?? {}) : {})
    if (fields !== runFields) endRun()
    runFields = fields
    run.push(...encodeContentPart(part, message.role === 'assistant' ? 'output_text' : 'input_text', context.warn))
  }
  endRun()
  if (message.parts.length === 0 && message.role !== 'tool') items.push({ role: message.role, content: [] })
  return items
}

/** A lone text is sent as a string: every compatible host reads that, not every one reads parts. */
function encodeContentItem(role: Message['role'], parts: readonly Json[], fields: Json): Json {
  return { ...fields, role: role === 'tool' ? 'user' : role, content: encodeContent(parts) }
}

function encodeContent(parts: readonly Json[]): unknown {
  const [only, second] = parts
  const isText = only?.type === 'input_text' || only?.type === 'output_text'
  return isText && second === undefined && Object.keys(only).length === 2 ? only.text : parts
}

/** A part that is an item of its own, or `undefined` for one that stands in a message. */
function encodeItem(part: Part, role: Message['role'], context: Context): Json | undefined {
  switch (part.type) {
    case 'reasoning':
      if (part.signature !== undefined) context.warn('the signature of a thought')
      return { ...encodeReasoning(part), ...(part.encrypted !== undefined && { encrypted_content: part.encrypted }) }
    case 'tool-call':
      if (part.signature !== undefined) context.warn('the signature of a tool call')
      return encodeToolCall(part)
    case 'tool-result':
      return encodeToolResult(part, context)
    case 'opaque':
      return part.format === FORMAT && (role === 'assistant' || role === 'tool') ? (part.value as Json) : undefined
    default:
      return undefined
  }
}

function encodeToolResult(part: ToolResultPart, { warn, customCalls }: Context): Json {
  // The result's own name is that of the call, which the id leads to.
  if (part.isError) warn('the error flag of a tool result')
  const output = part.parts.flatMap(inner => encodeContentPart(inner, 'input_text', warn))
  const type = customCalls.has(part.callId) ? 'custom_tool_call_output' : 'function_call_output'
  return { type, ...ownFields(part), call_id: part.callId, output: encodeContent(output) }
}

function encodeContentPart(part: Part, textType: 'input_text' | 'output_text', warn: Warn): Json[] {
  const { item: _, annotations, ...fields } = 'extensions' in part ? ownFields(part) : {}
  switch (part.type) {
    case 'text': {
      const others = Array.isArray(annotations) ? annotations : []
      const all = [...(part.citations ?? []).map(encodeCitation), ...others]
      return [{ ...fields, type: textType, text: part.text, ...(all.length > 0 && { annotations: all }) }]
    }
    case 'refusal':
      return [{ ...fields, type: 'refusal', refusal: part.text }]
    case 'image':
      if (textType === 'output_text') break
      return [withoutUndefined({ ...fields, type: 'input_image', ...encodeImage(part.source), detail: part.detail })]
    case 'audio':
      if (part.source.kind !== 'base64') break
      return [{ type: 'input_audio', input_audio: { data: part.source.data, format: part.format ?? 'wav' } }]
    case 'document':
      return [withoutUndefined({ ...fields, type: 'input_file', ...encodeFile(part.source), filename: part.filename })]
    case 'opaque':
      if (part.format !== FORMAT) break
      return [part.value as Json]
    default:
      break
  }
  warn(`${part.type === 'image' || part.type === 'audio' || part.type === 'opaque' ? 'an' : 'a'} ${part.type} part`)
  return []
}

function encodeImage(source: Source): Json {
  return source.kind === 'file' ? { file_id: source.id } : { image_url: encodeUrl(source) }
}

function encodeFile(source: Source): Json {
  if (source.kind === 'file') return { file_id: source.id }
  return source.kind === 'url' ? { file_url: source.url } : { file_data: encodeUrl(source) }
}

function encodeTool(tool: Tool, isForeign: boolean, warn: Warn): Json[] {
  if (tool.kind === 'function') {
    const { name, description, parameters = null, strict } = tool
    const fields = { name, description, parameters, strict: strict ?? (isForeign ? false : undefined) }
    // Schemas are made strict here unless told otherwise, in other formats only when asked.
    return [withoutUndefined({ ...ownFields(tool), type: 'function', ...fields })]
  }
  if (tool.format === FORMAT) return [tool.value as Json]
  warn(`a ${tool.format} tool`)
  return []
}

function encodeToolChoice(choice: ToolChoice, tools: readonly Tool[]): unknown {
  const named = (name: string) => ({ type: isCustom(name, tools) ? 'custom' : 'function', name })
  if (choice.mode === 'tool') return named(choice.name)
  if (choice.mode !== 'subset') return choice.mode
  return { type: 'allowed_tools', mode: choice.isRequired ? 'required' : 'auto', tools: choice.names.map(named) }
}

function isCustom(name: string, tools: readonly Tool[]): boolean {
  return tools.some(
    tool => tool.kind === 'opaque' && isObject(tool.value) && tool.value.type === 'custom' && tool.value.name === name,
  )
}

function encodeOutputFormat(output: OutputFormat): Json {
  if (output.type !== 'json-schema') return { type: output.type === 'json' ? 'json_object' : 'text' }
  const { name = 'response', description, schema, strict } = output
  return withoutUndefined({ type: 'json_schema', name, description, schema, strict })
}
