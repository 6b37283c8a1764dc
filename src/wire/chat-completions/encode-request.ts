import type { Call, Message, OutputFormat, Part, Source, Tool, ToolChoice, ToolResultPart } from '#core/call.ts'
import type { Target } from '#core/work.ts'
import { encodeUrl } from '../data-url.ts'
import type { EncodedRequest } from '../format.ts'
import { effortOfBudget } from '../reasoning-budget.ts'
import { encodeToolCall } from './encode-response.ts'
import { encodeReasoningDetails } from './reasoning-details.ts'

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
    reasoning_effort: encodeEffort(call.reasoning, target),
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

/** A budget alone becomes the effort that comes nearest to it. */
function encodeEffort(reasoning: Call['reasoning'], { limits }: Target): string | undefined {
  const { effort, budgetTokens } = reasoning ?? {}
  if (effort !== undefined || budgetTokens === undefined) return effort
  return effortOfBudget(budgetTokens, limits?.maxOutputTokens)
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
  if (message.role === 'tool') return message.parts.flatMap(part => encodeToolResult(part, warn))
  const thoughts = message.parts.filter(part => part.type === 'reasoning')
  const text = thoughts.map(part => part.text).filter(words => words !== '')
  const refusals = message.parts.filter(part => part.type === 'refusal').map(part => part.text)
  const calls = message.parts.filter(part => part.type === 'tool-call').map(encodeToolCall)
  const content = message.parts.flatMap(part => encodePart(part, warn))
  return [
    withoutUndefined({
      role: message.role,
      content: content.length === 0 ? null : encodeContent(content),
      name: message.name,
      reasoning_content: text.length === 0 ? undefined : text.join('\n'),
      reasoning_details: encodeReasoningDetails(thoughts),
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

/** Tool messages carry text only here, and know no error flag. */
function encodeToolResult(part: Part, warn: Warn): Json[] {
  if (part.type !== 'tool-result') {
    warn(`a tool message's ${part.type} has no equivalent in chat-completions`)
    return []
  }
  const result: ToolResultPart = part
  if (result.isError) warn('the error flag of a tool result has no equivalent in chat-completions')
  const content = result.parts.flatMap(inner => {
    if (inner.type === 'text') return [{ type: 'text', text: inner.text }]
    if (inner.type === 'opaque' && inner.format === FORMAT) return [inner.value as Json]
    warn(`a tool result's ${inner.type} has no equivalent in chat-completions`)
    return []
  })
  return [
    withoutUndefined({ role: 'tool', tool_call_id: result.callId, name: result.name, content: encodeContent(content) }),
  ]
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
