import type { Call, OutputFormat, Tool, ToolChoice } from '#core/call.ts'
import type { Target } from '#core/work.ts'
import type { EncodedRequest } from '../format.ts'
import { isObject } from '../json/parse.ts'
import { gatherLosses, lacking, type Warn, warnOfLosses } from '../losses.ts'
import { FORMAT } from './decode-block.ts'
import { type BlockContext, encodeExtras } from './encode-block.ts'
import { encodeConversation } from './encode-conversation.ts'
import { encodeReasoning } from './encode-reasoning.ts'
import { encodeSchema, hasOpenObjects } from './output-schema.ts'

type Json = Record<string, unknown>

/** neutral → upstream (see `WireFormat`). */
export function encodeRequest(call: Call, target: Target): EncodedRequest {
  const { warn: lacks, warnings } = gatherLosses(FORMAT)
  const context: BlockContext = { lacks }
  warnOfLosses(call, FORMAT, LACKING, lacks)
  const reasoning = encodeReasoning(call, target, lacks)
  if (call.reasoning?.isShown && !reasoning.isThinking) lacks('showing reasoning')
  const tools = encodeTools(call, lacks)
  const own = call.extensions[FORMAT] ?? {}
  const body = withoutUndefined({
    ...own,
    model: target.upstreamModel,
    max_tokens: reasoning.maxTokens,
    ...encodeConversation(call, context),
    tools,
    tool_choice: tools && encodeToolChoice(call),
    thinking: reasoning.thinking,
    output_config: encodeOutputConfig(call, reasoning.effort, lacks),
    ...encodeSampling(call, target, { isThinking: reasoning.isThinking, lacks }),
    stop_sequences: encodeStop(call.stop, lacks),
    metadata: encodeMetadata(call),
    service_tier: encodeServiceTier(call.serviceTier, lacks),
    stream: call.isStream || undefined,
  })
  return { body, warnings: warnings() }
}

function withoutUndefined(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

const LACKING = lacking(
  'call.presencePenalty',
  'call.frequencyPenalty',
  'call.seed',
  'call.choices',
  'call.topLogprobs',
  'call.verbosity',
  'call.modalities',
  'call.audioOutput',
  'call.translation',
  'call.cacheKey',
  'call.metadata',
  'output.description',
  'message.name',
  'image.detail',
  'text.signature',
  'tool-call.signature',
)

/** Sampling as it is allowed: up to 1, not at all by some models, and hardly beside thinking. */
function encodeSampling(
  { temperature, topP, topK }: Call,
  { quirks }: Target,
  { isThinking, lacks }: { isThinking: boolean; lacks: Warn },
): Json {
  const isRefused = quirks.sampling === false
  const reason = isRefused ? 'for this model' : 'beside reasoning'
  const keep = <T>(field: string, value: T | undefined, isAllowed: boolean): T | undefined => {
    if (value === undefined || isAllowed) return value
    lacks(`${field} ${reason}`)
    return undefined
  }
  if (temperature !== undefined && temperature > 1) lacks('a temperature above 1')
  const clamped = temperature === undefined ? undefined : Math.min(temperature, 1)
  return {
    temperature: keep('temperature', clamped, !isRefused && (!isThinking || clamped === 1)),
    top_p: keep('top_p', topP, !isRefused && (!isThinking || (topP ?? 1) >= 0.95)),
    top_k: keep('top_k', topK, !isRefused && !isThinking),
  }
}

/** The API refuses blank sequences. */
function encodeStop(stop: Call['stop'], lacks: Warn): readonly string[] | undefined {
  const sequences = stop?.filter(sequence => sequence.trim() !== '')
  if (sequences?.length !== stop?.length) lacks('a blank stop sequence')
  return sequences
}

function encodeMetadata(call: Call): Json | undefined {
  const own = call.extensions[FORMAT]?.metadata as Json | undefined
  return call.endUser === undefined ? own : { ...own, user_id: call.endUser }
}

const SERVICE_TIERS: ReadonlyMap<string, string> = new Map([
  ['auto', 'auto'],
  ['default', 'standard_only'],
])

function encodeServiceTier(tier: string | undefined, lacks: Warn): string | undefined {
  const encoded = SERVICE_TIERS.get(tier ?? '')
  if (tier !== undefined && encoded === undefined) lacks('service_tier')
  return encoded
}

function encodeTools(call: Call, lacks: Warn): Json[] | undefined {
  if (!call.tools) return toolsOfHistory(call)
  const { toolChoice } = call
  const chosen = toolChoice?.mode === 'subset' ? new Set(toolChoice.names) : undefined
  const tools = call.tools
    .filter(tool => !chosen || chosen.has(toolName(tool)))
    .flatMap(tool => encodeTool(tool, lacks))
  return tools.length === 0 ? undefined : tools
}

function toolName(tool: Tool): string {
  return tool.kind === 'opaque' ? String((tool.value as Json).name) : tool.name
}

function encodeTool(tool: Tool, lacks: Warn): Json[] {
  if (tool.kind === 'function') {
    const { name, description, parameters, strict } = tool
    const fields = { name, description, input_schema: encodeParameters(parameters), strict }
    return [{ ...withoutUndefined(fields), ...encodeExtras(tool) }]
  }
  if (tool.kind === 'opaque' && tool.format === FORMAT) return [tool.value as Json]
  lacks(tool.kind === 'opaque' ? `a tool of ${tool.format}` : 'a custom tool')
  return []
}

/** The API wants the schema of an object, also of a function without arguments. */
function encodeParameters(parameters: unknown): unknown {
  if (!isObject(parameters)) return { type: 'object', properties: {} }
  return parameters.type === undefined ? { type: 'object', ...parameters } : parameters
}

/** A history with tool calls is refused without tools: those that were called are named, and none may be called. */
function toolsOfHistory(call: Call): Json[] | undefined {
  const parts = call.messages.flatMap(message => message.parts)
  const names = new Set(parts.flatMap(part => (part.type === 'tool-call' ? [part.name] : [])))
  if (names.size === 0) return undefined
  return [...names].map(name => ({ name, input_schema: encodeParameters(undefined) }))
}

function encodeToolChoice(call: Call): Json | undefined {
  const { toolChoice, parallelToolCalls } = call
  if (!call.tools) return { type: 'none' }
  if (toolChoice?.mode === 'none') return { type: 'none' }
  // Parallel calls are what the API does unless told otherwise.
  if (!toolChoice && parallelToolCalls !== false) return undefined
  return {
    ...encodeMode(toolChoice),
    ...(parallelToolCalls !== undefined && { disable_parallel_tool_use: !parallelToolCalls }),
  }
}

function encodeMode(choice: ToolChoice | undefined): Json {
  if (choice?.mode === 'tool') return { type: 'tool', name: choice.name }
  const isRequired = choice?.mode === 'required' || (choice?.mode === 'subset' && choice.isRequired)
  return { type: isRequired ? 'any' : 'auto' }
}

function encodeOutputConfig(call: Call, effort: string | undefined, lacks: Warn): Json | undefined {
  const own = call.extensions[FORMAT]?.output_config as Json | undefined
  const config = withoutUndefined({ effort, format: encodeOutputFormat(call.output, lacks), ...own })
  return Object.keys(config).length === 0 ? undefined : config
}

/** A schema's name is a label that no model needs, and this format's schemas are always strict. */
function encodeOutputFormat(output: OutputFormat | undefined, lacks: Warn): Json | undefined {
  if (output?.type === 'json') lacks('a JSON answer without a schema')
  if (output?.type !== 'json-schema') return undefined
  if (hasOpenObjects(output.schema)) lacks('additionalProperties of an output schema')
  return { type: 'json_schema', schema: encodeSchema(output.schema) }
}
