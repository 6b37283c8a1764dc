import type { Call, Message, OutputFormat, Role, Tool, ToolChoice } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import { type Validator, validator } from '#core/validate.ts'
import { decodeContent, decodeExtras, FORMAT } from './decode-block.ts'
import { MessagesRequest, type WireMessage, type WireTool } from './schema.ts'

type Json = Readonly<Record<string, unknown>>

/** Top-level fields with a neutral meaning; every other one rides in `extensions`. */
const KNOWN_FIELDS = new Set(Object.keys(MessagesRequest.properties))

export const validateRequest: Validator<MessagesRequest> = validator(MessagesRequest)

/** client → neutral (see `WireFormat`). */
export function decodeRequest(body: unknown): Call {
  validateRequest(body)
  const n = undefinedIfNull
  const isStream = body.stream === true
  return {
    model: body.model,
    messages: [...decodeSystem(body.system), ...body.messages.flatMap(decodeMessage)],
    tools: body.tools?.length ? body.tools.map(decodeTool) : undefined,
    toolChoice: decodeToolChoice(body.tool_choice),
    parallelToolCalls: decodeParallel(body.tool_choice),
    output: decodeOutputFormat(body),
    maxOutputTokens: body.max_tokens,
    temperature: n(body.temperature),
    topP: n(body.top_p),
    topK: n(body.top_k),
    stop: n(body.stop_sequences),
    reasoning: decodeReasoning(body),
    endUser: n(body.metadata?.user_id),
    serviceTier: decodeServiceTier(body.service_tier),
    isStream,
    // Streams of this format always bring their usage.
    wantsStreamUsage: isStream,
    extensions: decodeExtensions(body),
  }
}

function undefinedIfNull<T>(value: T | null | undefined): T | undefined {
  return value ?? undefined
}

/** The neutral form has the word of the other formats for "not the priority tier". */
function decodeServiceTier(tier: string | null | undefined): string | undefined {
  return tier === 'standard_only' ? 'default' : (tier ?? undefined)
}

/** Unknown fields, and what is left of the known ones when their neutral part is taken away. */
function decodeExtensions(body: MessagesRequest): Call['extensions'] {
  const fields = {
    ...without(body, KNOWN_FIELDS),
    ...rest('metadata', without(body.metadata, new Set(['user_id']))),
    ...rest('thinking', keptThinking(body)),
    ...rest('output_config', keptOutputConfig(body)),
  }
  return Object.keys(fields).length === 0 ? {} : { [FORMAT]: fields }
}

function without(owner: Json | null | undefined, known: ReadonlySet<string>): Json {
  return Object.fromEntries(Object.entries(owner ?? {}).filter(([key, value]) => !known.has(key) && value !== null))
}

function rest(field: string, value: Json): Json {
  return Object.keys(value).length === 0 ? {} : { [field]: value }
}

function decodeReasoning({ thinking, output_config }: MessagesRequest): Call['reasoning'] {
  const effort = thinking?.type === 'disabled' ? 'none' : (output_config?.effort ?? undefined)
  const budgetTokens = thinking?.type === 'enabled' ? (thinking.budget_tokens ?? undefined) : undefined
  const isShown = DISPLAYS.get(thinking?.display)
  const isAdaptive = thinking?.type === 'adaptive'
  if (effort === undefined && budgetTokens === undefined && !isAdaptive) return undefined
  return {
    ...(effort !== undefined && { effort }),
    ...(budgetTokens !== undefined && { budgetTokens }),
    ...(isShown !== undefined && { isShown }),
  }
}

const DISPLAYS: ReadonlyMap<unknown, boolean> = new Map([
  ['summarized', true],
  ['omitted', false],
])

/** `thinking` as it is where the neutral form does not say all of it. */
function keptThinking({ thinking, output_config }: MessagesRequest): Json {
  if (!thinking) return {}
  const { type, budget_tokens, display, ...others } = thinking
  const isKnownDisplay = display === undefined || display === null || DISPLAYS.has(display)
  const isNeutral =
    type === 'disabled' ||
    (type === 'enabled' && typeof budget_tokens === 'number') ||
    (type === 'adaptive' && typeof output_config?.effort === 'string')
  return isNeutral && isKnownDisplay && Object.values(others).every(value => value === null) ? {} : thinking
}

/** An effort without thinking, or beside disabled thinking, is no neutral effort: that means thinking. */
function keptOutputConfig({ thinking, output_config }: MessagesRequest): Json {
  const { effort, format } = output_config ?? {}
  const isEffortKept = typeof effort === 'string' && (!thinking || thinking.type === 'disabled')
  return {
    ...without(output_config, new Set(['effort', 'format'])),
    ...(isEffortKept && { effort }),
    ...(format && format.type !== 'json_schema' && { format }),
  }
}

function decodeSystem(system: MessagesRequest['system']): Message[] {
  const parts = decodeContent(system, 'system')
  return parts.length === 0 ? [] : [{ role: 'system', parts }]
}

const ROLES: ReadonlyMap<string, Role> = new Map([
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['system', 'system'],
])

/** Tool results stand in user messages here; the neutral form gives them a message of their own, before the rest. */
function decodeMessage(message: WireMessage, index: number): Message[] {
  const path = `messages[${index}]`
  const role = ROLES.get(message.role)
  if (role === undefined) {
    throw new Fault('invalid_request', `\`${path}.role\` must be one of ${[...ROLES.keys()].join(', ')}.`, {
      param: `${path}.role`,
    })
  }
  const parts = decodeContent(message.content, `${path}.content`)
  const results = role === 'user' ? parts.filter(part => part.type === 'tool-result') : []
  if (results.length === 0) return [{ role, parts }]
  const others = parts.filter(part => part.type !== 'tool-result')
  return [{ role: 'tool', parts: results }, ...(others.length > 0 ? [{ role, parts: others }] : [])]
}

const TOOL_FIELDS = ['name', 'description', 'input_schema', 'strict']

/** A tool with a type of its own is one that the provider runs or has trained its models on. */
function decodeTool(tool: WireTool, index: number): Tool {
  if (typeof tool.type === 'string' && tool.type !== 'custom') return { kind: 'opaque', format: FORMAT, value: tool }
  const { name, description, input_schema, strict } = tool
  if (name === undefined) {
    throw new Fault('invalid_request', `\`tools[${index}].name\` is required.`, { param: `tools[${index}].name` })
  }
  return {
    kind: 'function',
    name,
    ...(description && { description }),
    ...(input_schema !== undefined && input_schema !== null && { parameters: input_schema }),
    ...(typeof strict === 'boolean' && { strict }),
    ...decodeExtras(tool, TOOL_FIELDS),
  }
}

function decodeToolChoice(choice: MessagesRequest['tool_choice']): ToolChoice | undefined {
  switch (choice?.type) {
    case 'auto':
    case 'none':
      return { mode: choice.type }
    case 'any':
      return { mode: 'required' }
    case 'tool':
      if (choice.name !== undefined) return { mode: 'tool', name: choice.name }
      throw new Fault('invalid_request', '`tool_choice.name` is required.', { param: 'tool_choice.name' })
    default:
      return undefined
  }
}

function decodeParallel(choice: MessagesRequest['tool_choice']): boolean | undefined {
  const isDisabled = choice?.disable_parallel_tool_use
  return typeof isDisabled === 'boolean' ? !isDisabled : undefined
}

/** While it was on trial, the format of the output stood at the top. */
function decodeOutputFormat({ output_config, output_format }: MessagesRequest): OutputFormat | undefined {
  const format = output_config?.format ?? output_format
  return format?.type === 'json_schema' ? { type: 'json-schema', schema: format.schema } : undefined
}
