import type { Call, Message, OutputFormat, Part, Role, Tool, ToolChoice } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import { type Validator, validator } from '#core/validate.ts'
import { decodeGrammar } from '../grammar.ts'
import { objectField, textField } from '../json/fields.ts'
import { isObject } from '../json/parse.ts'
import { decodeContent, decodeItem, extended, extraFields, FORMAT, type Json, ownFields } from './decode-item.ts'
import { type ResponsesItem, ResponsesRequest, type ResponsesTool } from './schema.ts'
import { SEALED_REASONING } from './sealed-reasoning.ts'

/** Top-level fields that are wholly neutral; every other one rides in `extensions`, as do the rests of three. */
const KNOWN_FIELDS = new Set(Object.keys(ResponsesRequest.properties))

/** Asks for what the neutral form has in `topLogprobs`. */
export const INCLUDE_LOGPROBS = 'message.output_text.logprobs'

const check: Validator<ResponsesRequest> = validator(ResponsesRequest)

/** Where the prompt may be when the body has no input. */
const STORED_PROMPTS = ['prompt', 'previous_response_id']

/** @throws Fault `invalid_request` naming the field */
export const validateRequest: Validator<ResponsesRequest> = (body): asserts body is ResponsesRequest => {
  check(body)
  const isPrompted = ['input', ...STORED_PROMPTS].some(field => isGiven((body as Json)[field]))
  if (!isPrompted) throw new Fault('invalid_request', '`input` is required.', { param: 'input' })
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** client → neutral (see `WireFormat`). */
export function decodeRequest(body: unknown): Call {
  validateRequest(body)
  const n = undefinedIfNull
  const toolChoice = decodeToolChoice(body.tool_choice)
  const wantsLogprobs = isGiven(body.top_logprobs) || body.include?.includes(INCLUDE_LOGPROBS)
  return {
    model: body.model,
    messages: [...decodeInstructions(body.instructions), ...decodeInput(body.input)],
    tools: body.tools?.length ? body.tools.map(decodeTool) : undefined,
    toolChoice,
    parallelToolCalls: n(body.parallel_tool_calls),
    output: decodeOutputFormat(body.text?.format),
    maxOutputTokens: n(body.max_output_tokens),
    temperature: n(body.temperature),
    topP: n(body.top_p),
    topLogprobs: wantsLogprobs ? (body.top_logprobs ?? 0) : undefined,
    reasoning: decodeReasoning(body.reasoning),
    verbosity: n(body.text?.verbosity),
    cacheKey: n(body.prompt_cache_key),
    endUser: n(body.safety_identifier) ?? n(body.user),
    metadata: n(body.metadata),
    serviceTier: n(body.service_tier),
    isStream: body.stream === true,
    // A stream of this format always ends with its usage.
    wantsStreamUsage: body.stream === true,
    extensions: { [FORMAT]: decodeExtensions(body, toolChoice) },
  }
}

function undefinedIfNull<T>(value: T | null | undefined): T | undefined {
  return value ?? undefined
}

/** The summaries that the model thinks best, which is what other formats mean by shown thoughts. */
export const SUMMARY_AUTO = 'auto'

function decodeReasoning(reasoning: ResponsesRequest['reasoning']): Call['reasoning'] {
  const { effort, summary } = reasoning ?? {}
  const isShown = typeof summary === 'string'
  if (!effort && !isShown) return undefined
  return { ...(effort && { effort }), ...(isShown && { isShown }) }
}

function withoutSummary({ summary: _, ...others }: Json): Json {
  return others
}

/** They are there, if empty, in every call of this format: by that `encodeRequest` knows its own. */
function decodeExtensions(body: ResponsesRequest, toolChoice: ToolChoice | undefined): Json {
  const { effort: _effort, ...others } = body.reasoning ?? {}
  const reasoning = others.summary === SUMMARY_AUTO ? withoutSummary(others) : others
  const { format: _format, verbosity: _verbosity, ...text } = body.text ?? {}
  const include = (body.include ?? []).filter(each => each !== INCLUDE_LOGPROBS && each !== SEALED_REASONING)
  const unknown = Object.entries(body).filter(([key, value]) => !KNOWN_FIELDS.has(key) && value !== null)
  return {
    ...Object.fromEntries(unknown),
    ...(include.length > 0 && { include }),
    ...(Object.keys(reasoning).length > 0 && { reasoning }),
    ...(Object.keys(text).length > 0 && { text }),
    ...(toolChoice === undefined && isGiven(body.tool_choice) && { tool_choice: body.tool_choice }),
  }
}

function decodeInstructions(instructions: string | null | undefined): Message[] {
  return typeof instructions === 'string' ? [{ role: 'system', parts: [{ type: 'text', text: instructions }] }] : []
}

function decodeInput(input: ResponsesRequest['input']): Message[] {
  if (typeof input === 'string') return [{ role: 'user', parts: [{ type: 'text', text: input }] }]
  const items: readonly ResponsesItem[] = input ?? []
  const customCalls = new Set<unknown>(items.flatMap(item => (item.type === 'custom_tool_call' ? item.call_id : [])))
  const messages: Message[] = []
  for (const [index, item] of items.entries()) {
    const path = `input[${index}]`
    checkFields(item, REQUIRED_OF_ITEMS.get(item.type ?? 'message'), path)
    const message = decodeInputItem(item, path, customCalls)
    const previous = messages.at(-1)
    // A turn of the assistant, and the results of its calls, are several items here and one message in neutral form.
    if ((message.role === 'assistant' || message.role === 'tool') && previous?.role === message.role) {
      messages[messages.length - 1] = { role: message.role, parts: [...previous.parts, ...message.parts] }
    } else messages.push(message)
  }
  return messages
}

/** Texts without which an item, or a part of its content, says nothing. */
const REQUIRED_OF_ITEMS: ReadonlyMap<string, readonly string[]> = new Map([
  ['message', ['role']],
  ['function_call', ['call_id', 'name', 'arguments']],
  ['function_call_output', ['call_id']],
  ['custom_tool_call', ['call_id', 'name', 'input']],
  ['custom_tool_call_output', ['call_id']],
])

const REQUIRED_OF_PARTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['input_text', ['text']],
  ['output_text', ['text']],
  ['refusal', ['refusal']],
])

function checkFields(owner: Json, required: readonly string[] | undefined, path: string): void {
  for (const field of required ?? []) textField(owner, field, path)
}

function decodeInputItem(item: ResponsesItem, path: string, customCalls: ReadonlySet<unknown>): Message {
  const type = item.type ?? 'message'
  if (type === 'message') return decodeMessage(item, path)
  if (OUTPUTS.has(type)) return { role: 'tool', parts: [decodeOutput(item, path, customCalls)] }
  // What tools of the upstream itself gave back stands where results do.
  return { role: type.endsWith('_output') ? 'tool' : 'assistant', parts: decodeItem(item) }
}

const ROLES: ReadonlyMap<unknown, Role> = new Map<string, Role>([
  ['system', 'system'],
  ['developer', 'developer'],
  ['user', 'user'],
  ['assistant', 'assistant'],
])

function decodeMessage(item: ResponsesItem, path: string): Message {
  const role = ROLES.get(item.role)
  if (role === undefined) {
    const param = `${path}.role`
    throw new Fault('invalid_request', `\`${param}\` must be one of ${[...ROLES.keys()].join(', ')}.`, { param })
  }
  checkParts(item.content, `${path}.content`)
  return { role, parts: role === 'assistant' ? decodeItem(item) : decodeContent(item.content) }
}

function checkParts(content: unknown, path: string): void {
  if (!Array.isArray(content)) return
  for (const [index, part] of content.entries())
    checkFields(part, REQUIRED_OF_PARTS.get(part.type), `${path}[${index}]`)
}

const OUTPUTS: ReadonlySet<string> = new Set(['function_call_output', 'custom_tool_call_output'])

const OUTPUT_FIELDS = new Set(['type', 'id', 'status', 'call_id', 'output'])

function decodeOutput(item: ResponsesItem, path: string, customCalls: ReadonlySet<unknown>): Part {
  checkParts(item.output, `${path}.output`)
  const callId = textField(item, 'call_id', path)
  const extra = extraFields(item, OUTPUT_FIELDS)
  // Of a call that is not in the input only its result can tell of which kind it was.
  const isStray = item.type === 'custom_tool_call_output' && !customCalls.has(callId)
  return {
    type: 'tool-result',
    callId,
    parts: isObject(item.output) ? [{ type: 'text', text: JSON.stringify(item.output) }] : decodeContent(item.output),
    ...extended({ ...ownFields(extra), ...(isStray && { type: item.type }) }),
  }
}

const TOOL_FIELDS = new Set(['type', 'name', 'description', 'parameters', 'strict'])

const CUSTOM_TOOL_FIELDS = new Set(['type', 'name', 'description', 'format'])

function decodeTool(tool: ResponsesTool, index: number): Tool {
  const custom = tool.type === 'custom' ? decodeCustomTool(tool, index) : undefined
  if (custom) return custom
  if (tool.type !== 'function') return { kind: 'opaque', format: FORMAT, value: tool }
  const { description, parameters, strict } = tool
  return {
    kind: 'function',
    name: textField(tool, 'name', `tools[${index}]`),
    ...(description && { description }),
    ...(parameters !== undefined && parameters !== null && { parameters }),
    ...(typeof strict === 'boolean' && { strict }),
    ...extraFields(tool, TOOL_FIELDS),
  }
}

/** `undefined` for one whose text is to have a form that is unknown here. */
function decodeCustomTool(tool: ResponsesTool, index: number): Tool | undefined {
  const { description, format } = tool
  const grammar = format?.type === 'grammar' ? decodeGrammar(format) : undefined
  if (format && format.type !== 'text' && !grammar) return undefined
  return {
    kind: 'custom',
    name: textField(tool, 'name', `tools[${index}]`),
    ...(description && { description }),
    ...(grammar && { grammar }),
    ...extraFields(tool, CUSTOM_TOOL_FIELDS),
  }
}

/** `undefined` also for a choice among tools that only this format has: it goes back as it came. */
function decodeToolChoice(choice: ResponsesRequest['tool_choice']): ToolChoice | undefined {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { mode: choice }
  if (!isObject(choice)) return undefined
  if (choice.type === 'function' || choice.type === 'custom') {
    return { mode: 'tool', name: textField(choice, 'name', 'tool_choice') }
  }
  if (choice.type !== 'allowed_tools' || !Array.isArray(choice.tools)) return undefined
  const names = choice.tools.flatMap(tool => (isNamed(tool) ? tool.name : []))
  if (names.length < choice.tools.length) return undefined
  return { mode: 'subset', names, isRequired: choice.mode === 'required' }
}

function isNamed(tool: unknown): tool is { name: string } {
  return isObject(tool) && (tool.type === 'function' || tool.type === 'custom') && typeof tool.name === 'string'
}

function decodeOutputFormat(format: NonNullable<ResponsesRequest['text']>['format']): OutputFormat | undefined {
  if (!format) return undefined
  if (format.type === 'json_object') return { type: 'json' }
  if (format.type !== 'json_schema') return { type: 'text' }
  const { name, description, strict } = format as Json
  return {
    type: 'json-schema',
    schema: objectField(format, 'schema', 'text.format'),
    ...(typeof name === 'string' && { name }),
    ...(typeof description === 'string' && { description }),
    ...(typeof strict === 'boolean' && { strict }),
  }
}
