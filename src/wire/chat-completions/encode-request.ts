import type {
  Call,
  Message,
  OutputFormat,
  Part,
  Source,
  Tool,
  ToolChoice,
  ToolResultPart,
  Translation,
} from '#core/call.ts'
import type { Target } from '#core/work.ts'
import { encodeUrl } from '../data-url.ts'
import type { EncodedRequest } from '../format.ts'
import { aPart, CACHE_FIELDS, gatherLosses, lacking, type Warn, warnOfLosses } from '../losses.ts'
import { effortOfBudget } from '../reasoning-budget.ts'
import { encodeToolCall } from './encode-response.ts'
import { encodeForHost, lossesAtHost } from './host-dialect.ts'
import { encodeReasoningDetails } from './reasoning-details.ts'

const FORMAT = 'chat-completions'

type Json = Record<string, unknown>

const LACKING = lacking(
  'call.topK',
  'thinking.isShown',
  'text.citations',
  'text.signature',
  'tool-result.isError',
  ...CACHE_FIELDS,
)

/** neutral → upstream (see `WireFormat`). */
export function encodeRequest(call: Call, target: Target): EncodedRequest {
  const { warn, warnings } = gatherLosses(FORMAT)
  warnOfLosses(call, FORMAT, LACKING, warn)
  const body = withoutUndefined({
    ...call.extensions[FORMAT],
    model: target.upstreamModel,
    messages: call.messages.flatMap(message => encodeMessage(message, warn)),
    tools: call.tools?.flatMap(tool => encodeTool(tool, warn)),
    tool_choice: call.toolChoice && encodeToolChoice(call.toolChoice, call.tools ?? []),
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
    translation_options: call.translation && encodeTranslation(call.translation),
    prompt_cache_key: call.cacheKey,
    safety_identifier: call.endUser,
    metadata: call.metadata,
    service_tier: call.serviceTier,
    stream: call.isStream || undefined,
    // Usage is asked for whatever the client wants: it is what the call is billed by.
    stream_options: call.isStream && target.quirks.streamOptions !== false ? { include_usage: true } : undefined,
  })
  return { body: encodeForHost(body, target.quirks), warnings: [...warnings(), ...lossesAtHost(body, target.quirks)] }
}

/** A budget alone becomes the effort that comes nearest to it. */
function encodeEffort(reasoning: Call['reasoning'], { limits }: Target): string | undefined {
  const { effort, budgetTokens } = reasoning ?? {}
  if (effort !== undefined || budgetTokens === undefined) return effort
  return effortOfBudget(budgetTokens, limits?.maxOutputTokens)
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
      ...ownFields(message.parts),
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

/** Fields of the message that only this format knows ride on one of its parts. */
function ownFields(parts: readonly Part[]): Json {
  const owners = parts.filter(part => part.type !== 'reasoning')
  return Object.assign({}, ...owners.map(part => ('extensions' in part ? part.extensions?.[FORMAT] : undefined)))
}

/** Tool messages carry text only here, and know no error flag. */
function encodeToolResult(part: Part, warn: Warn): Json[] {
  if (part.type !== 'tool-result') {
    warn(`${aPart(part)} among tool results`)
    return []
  }
  const result: ToolResultPart = part
  const content = result.parts.flatMap(inner => {
    if (inner.type === 'text') return [{ type: 'text', text: inner.text }]
    if (inner.type === 'opaque' && inner.format === FORMAT) return [inner.value as Json]
    warn(`${aPart(inner)} in a tool result`)
    return []
  })
  const message = { role: 'tool', tool_call_id: result.callId, name: result.name, content: encodeContent(content) }
  return [withoutUndefined({ ...ownFields([result]), ...message })]
}

/** Content parts; reasoning, refusals and tool calls have fields of their own on the message. */
function encodePart(part: Part, warn: Warn): Json[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }]
    case 'image':
      if (part.source.kind === 'file') break
      return [{ type: 'image_url', image_url: withoutUndefined({ url: encodeUrl(part.source), detail: part.detail }) }]
    case 'video':
      if (part.source.kind === 'file') break
      return [{ type: 'video_url', video_url: { url: encodeUrl(part.source) } }]
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
  warn(aPart(part))
  return []
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
  if (tool.kind === 'custom') {
    const { name, description, grammar } = tool
    const format = grammar && { type: 'grammar', grammar }
    return [{ type: 'custom', custom: withoutUndefined({ name, description, format }) }]
  }
  if (tool.format === FORMAT) return [tool.value as Json]
  warn(`a tool of ${tool.format}`)
  return []
}

function encodeToolChoice(choice: ToolChoice, tools: readonly Tool[]): unknown {
  const custom = new Set(tools.flatMap(tool => (tool.kind === 'custom' ? tool.name : [])))
  const named = (name: string) =>
    custom.has(name) ? { type: 'custom', custom: { name } } : { type: 'function', function: { name } }
  if (choice.mode === 'tool') return named(choice.name)
  if (choice.mode !== 'subset') return choice.mode
  const mode = choice.isRequired ? 'required' : 'auto'
  return { type: 'allowed_tools', allowed_tools: { mode, tools: choice.names.map(named) } }
}

function encodeTranslation({ sourceLanguage, targetLanguage }: Translation): Json {
  return withoutUndefined({ source_lang: sourceLanguage, target_lang: targetLanguage })
}

function encodeOutputFormat(output: OutputFormat): Json {
  if (output.type !== 'json-schema') return { type: output.type === 'json' ? 'json_object' : 'text' }
  const { name = 'response', description, schema, strict } = output
  return { type: 'json_schema', json_schema: withoutUndefined({ name, description, schema, strict }) }
}
