import type {
  Call,
  Message,
  OutputFormat,
  Part,
  Source,
  Tool,
  ToolCallPart,
  ToolChoice,
  ToolResultPart,
} from '#core/call.ts'
import type { Target } from '#core/work.ts'
import { encodeUrl } from '../data-url.ts'
import type { EncodedRequest } from '../format.ts'

const FORMAT = 'chat-completions'

type Json = Record<string, unknown>
type Warn = (sentence: string) => void

/** neutral → upstream (see `WireFormat`). */
export function encodeRequest(call: Call, target: Target): EncodedRequest {
  const warnings = new Set<string>()
  const warn: Warn = sentence => warnings.add(sentence)
  if (call.topK !== undefined) warn('top_k has no equivalent in chat-completions')
  if (call.reasoning?.budgetTokens !== undefined) warn('a reasoning budget has no equivalent in chat-completions')
  if (call.reasoning?.isShown) warn('showing reasoning has no equivalent in chat-completions')
  for (const owner of [call, ...(call.tools ?? []), ...allParts(call)]) {
    if ('extensions' in owner && owner.extensions) warnOfForeignFields(owner.extensions, warn)
    if ('cache' in owner && owner.cache) warn('cache_control has no equivalent in chat-completions')
  }
  const body = withoutUndefined({
    ...call.extensions[FORMAT],
    model: target.upstreamModel,
    messages: call.messages.flatMap(message => encodeMessage(message, warn)),
    tools: call.tools?.flatMap(tool => encodeTool(tool, warn)),
    tool_choice: call.toolChoice && encodeToolChoice(call.toolChoice),
    parallel_tool_calls: call.parallelToolCalls,
    response_format: call.output && encodeOutputFormat(call.output),
    max_completion_tokens: call.maxOutputTokens,
    temperature: call.temperature,
    top_p: call.topP,
    presence_penalty: call.presencePenalty,
    frequency_penalty: call.frequencyPenalty,
    seed: call.seed,
    stop: call.stop,
    n: call.choices,
    logprobs: call.topLogprobs === undefined ? undefined : true,
    top_logprobs: call.topLogprobs,
    reasoning_effort: call.reasoning?.effort,
    verbosity: call.verbosity,
    modalities: call.modalities,
    audio: call.audioOutput,
    prompt_cache_key: call.cacheKey,
    safety_identifier: call.endUser,
    metadata: call.metadata,
    service_tier: call.serviceTier,
    stream: call.isStream || undefined,
    // Usage is asked for whatever the client wants: it is what the call is billed by.
    stream_options: call.isStream && target.quirks.streamOptions !== false ? { include_usage: true } : undefined,
  })
  return { body, warnings: [...warnings] }
}

function allParts(call: Call): Part[] {
  const parts = call.messages.flatMap(message => message.parts)
  return [...parts, ...parts.flatMap(part => (part.type === 'tool-result' ? part.parts : []))]
}

function warnOfForeignFields(extensions: Call['extensions'], warn: Warn): void {
  for (const [format, fields] of Object.entries(extensions)) {
    if (format === FORMAT) continue
    for (const field of Object.keys(fields)) warn(`${field} has no equivalent in chat-completions`)
  }
}

function withoutUndefined(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

function encodeMessage(message: Message, warn: Warn): Json[] {
  if (message.role === 'tool') return encodeToolMessages(message.parts, warn)
  const text = message.parts.filter(part => part.type === 'reasoning').map(part => part.text)
  const refusals = message.parts.filter(part => part.type === 'refusal').map(part => part.text)
  const calls = message.parts.filter(part => part.type === 'tool-call').map(encodeToolCall)
  const content = message.parts.flatMap(part => encodePart(part, warn))
  return [
    withoutUndefined({
      ...ownFields(message.parts),
      role: message.role,
      content: content.length === 0 ? null : encodeContent(content),
      name: message.name,
      reasoning_content: text.length === 0 ? undefined : text.join('\n'),
      refusal: refusals.length === 0 ? undefined : refusals.join('\n'),
      tool_calls: calls.length === 0 ? undefined : calls,
    }),
  ]
}

/** A lone text part is sent as a string: every compatible host reads that, not every one reads parts. */
function encodeContent(parts: readonly Json[]): unknown {
  const [only, second] = parts
  return second === undefined && only?.type === 'text' ? only.text : parts
}

function encodeToolCall(part: ToolCallPart): Json {
  return part.kind === 'custom'
    ? { id: part.id, type: 'custom', custom: { name: part.name, input: part.arguments } }
    : { id: part.id, type: 'function', function: { name: part.name, arguments: part.arguments } }
}

/** Fields of the message that only this format knows ride on one of its parts. */
function ownFields(parts: readonly Part[]): Json {
  return Object.assign({}, ...parts.map(part => ('extensions' in part ? part.extensions?.[FORMAT] : undefined)))
}

/** Tool messages carry text only here, one a result; what else there is to see follows as if the user showed it. */
function encodeToolMessages(parts: readonly Part[], warn: Warn): Json[] {
  const messages: Json[] = []
  const shown: Json[] = []
  for (const part of parts) {
    if (part.type !== 'tool-result') {
      warn(`a tool message's ${part.type} has no equivalent in chat-completions`)
      continue
    }
    const media = part.parts.filter(isMedium).flatMap(inner => encodePart(inner, warn))
    if (media.length > 0) shown.push({ type: 'text', text: `Result of the tool call ${part.callId}:` }, ...media)
    messages.push(encodeToolResult(part, media.length > 0, warn))
  }
  return shown.length === 0 ? messages : [...messages, { role: 'user', content: shown }]
}

function isMedium({ type }: Part): boolean {
  return type === 'image' || type === 'document' || type === 'audio' || type === 'video'
}

/** The format knows no error flag. */
function encodeToolResult(result: ToolResultPart, isShown: boolean, warn: Warn): Json {
  if (result.isError) warn('the error flag of a tool result has no equivalent in chat-completions')
  const content = result.parts.flatMap(inner => {
    if (inner.type === 'text') return [{ type: 'text', text: inner.text }]
    if (inner.type === 'opaque' && inner.format === FORMAT) return [inner.value as Json]
    if (!isMedium(inner)) warn(`a tool result's ${inner.type} has no equivalent in chat-completions`)
    return []
  })
  const isEmpty = content.length === 0 && isShown
  return withoutUndefined({
    ...ownFields([result]),
    role: 'tool',
    tool_call_id: result.callId,
    name: result.name,
    content: isEmpty ? 'Shown in the next message.' : encodeContent(content),
  })
}

/** Content parts; reasoning, refusals and tool calls have fields of their own on the message. */
function encodePart(part: Part, warn: Warn): Json[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }]
    case 'image':
      return encodeUrlPart('image_url', part.source, part.detail === undefined ? {} : { detail: part.detail }, warn)
    case 'video':
      return encodeUrlPart('video_url', part.source, {}, warn)
    case 'audio':
      if (part.source.kind !== 'base64') break
      return [{ type: 'input_audio', input_audio: { data: part.source.data, format: part.format ?? 'wav' } }]
    case 'document':
      return [{ type: 'file', file: encodeFile(part.source, part.filename) }]
    case 'opaque':
      if (part.format !== FORMAT) break
      return [part.value as Json]
    case 'reasoning':
    case 'refusal':
    case 'tool-call':
      return []
    case 'tool-result':
      break
  }
  warn(`a ${part.type} part has no equivalent in chat-completions`)
  return []
}

function encodeUrlPart(type: string, source: Source, extra: Json, warn: Warn): Json[] {
  if (source.kind === 'file') {
    warn(`${type} cannot name a file id in chat-completions`)
    return []
  }
  return [{ type, [type]: { url: encodeUrl(source), ...extra } }]
}

function encodeFile(source: Source, filename: string | undefined): Json {
  const place = source.kind === 'file' ? { file_id: source.id } : { file_data: encodeUrl(source) }
  return filename === undefined ? place : { ...place, filename }
}

function encodeTool(tool: Tool, warn: Warn): Json[] {
  if (tool.kind === 'function') {
    const { name, description, parameters, strict } = tool
    return [{ type: 'function', function: withoutUndefined({ name, description, parameters, strict }) }]
  }
  if (tool.format === FORMAT) return [tool.value as Json]
  warn(`a ${tool.format} tool has no equivalent in chat-completions`)
  return []
}

function encodeToolChoice(choice: ToolChoice): unknown {
  if (choice.mode === 'tool') return { type: 'function', function: { name: choice.name } }
  if (choice.mode !== 'subset') return choice.mode
  const tools = choice.names.map(name => ({ type: 'function', function: { name } }))
  return { type: 'allowed_tools', allowed_tools: { mode: choice.isRequired ? 'required' : 'auto', tools } }
}

function encodeOutputFormat(output: OutputFormat): Json {
  if (output.type !== 'json-schema') return { type: output.type === 'json' ? 'json_object' : 'text' }
  const { name = 'response', description, schema, strict } = output
  return { type: 'json_schema', json_schema: withoutUndefined({ name, description, schema, strict }) }
}
