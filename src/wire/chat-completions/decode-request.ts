import type {
  CacheBreakpoint,
  Call,
  Message,
  OutputFormat,
  Part,
  Role,
  Source,
  Tool,
  ToolCallPart,
  ToolChoice,
} from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import { type Validator, validator } from '#core/validate.ts'
import { decodeCache } from '../cache-control.ts'
import { decodeUrl } from '../data-url.ts'
import { decodeGrammar } from '../grammar.ts'
import { objectField as object, textField as text } from '../json/fields.ts'
import { isObject } from '../json/parse.ts'
import { thoughtText } from './content.ts'
import { decodeCallSignature, decodeReasoning } from './reasoning-details.ts'
import { ChatCompletionsRequest, type ChatMessage, type ChatTool } from './schema.ts'

const FORMAT = 'chat-completions'

/** Top-level fields with a neutral meaning; every other one rides in `extensions`. */
const KNOWN_FIELDS = new Set(Object.keys(ChatCompletionsRequest.properties).concat('functions', 'function_call'))

const check: Validator<ChatCompletionsRequest> = validator(ChatCompletionsRequest)

/** @throws Fault `invalid_request` naming the field */
export const validateRequest: Validator<ChatCompletionsRequest> = (body): asserts body is ChatCompletionsRequest => {
  check(body)
  if (body.modalities?.includes('audio') && !body.audio) {
    throw new Fault('invalid_request', '`audio` is required when `modalities` asks for it.', { param: 'audio' })
  }
}

/** client → neutral (see `WireFormat`). */
export function decodeRequest(body: unknown): Call {
  validateRequest(body)
  const n = undefinedIfNull
  return {
    model: body.model,
    messages: joinToolMessages(body.messages.map(decodeMessage)),
    tools: decodeTools(body),
    toolChoice: decodeToolChoice(body.tool_choice ?? legacyToolChoice(body)),
    parallelToolCalls: n(body.parallel_tool_calls),
    output: decodeOutputFormat(body.response_format),
    maxOutputTokens: n(body.max_completion_tokens) ?? n(body.max_tokens),
    temperature: n(body.temperature),
    topP: n(body.top_p),
    presencePenalty: n(body.presence_penalty),
    frequencyPenalty: n(body.frequency_penalty),
    seed: n(body.seed),
    stop: typeof body.stop === 'string' ? [body.stop] : n(body.stop),
    choices: n(body.n),
    topLogprobs: body.logprobs ? (body.top_logprobs ?? 0) : undefined,
    reasoning: body.reasoning_effort ? { effort: body.reasoning_effort } : undefined,
    verbosity: n(body.verbosity),
    modalities: n(body.modalities),
    audioOutput: n(body.audio),
    translation: decodeTranslation(body.translation_options),
    cacheKey: n(body.prompt_cache_key),
    endUser: n(body.safety_identifier) ?? n(body.user),
    metadata: n(body.metadata),
    serviceTier: n(body.service_tier),
    isStream: body.stream === true,
    wantsStreamUsage: body.stream_options?.include_usage === true,
    extensions: decodeExtensions(body),
  }
}

function undefinedIfNull<T>(value: T | null | undefined): T | undefined {
  return value ?? undefined
}

function decodeExtensions(body: ChatCompletionsRequest): Call['extensions'] {
  const unknown = Object.entries(body).filter(
    ([key, value]) => !KNOWN_FIELDS.has(key) && value !== null && !(key === 'store' && value === false),
  )
  return unknown.length === 0 ? {} : { [FORMAT]: Object.fromEntries(unknown) }
}

export function decodeTranslation(options: ChatCompletionsRequest['translation_options']): Call['translation'] {
  if (!options) return undefined
  const { source_lang: sourceLanguage, target_lang: targetLanguage } = options
  return { targetLanguage, ...(sourceLanguage && { sourceLanguage }) }
}

const ROLES: ReadonlyMap<string, Role> = new Map([
  ['system', 'system'],
  ['developer', 'developer'],
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['tool', 'tool'],
  ['function', 'tool'],
])

function decodeMessage(message: ChatMessage, index: number): Message {
  const path = `messages[${index}]`
  const role = ROLES.get(message.role)
  if (role === undefined) {
    throw new Fault('invalid_request', `\`${path}.role\` must be one of ${[...ROLES.keys()].join(', ')}.`, {
      param: `${path}.role`,
    })
  }
  const content = decodeContent(message.content, `${path}.content`)
  if (role === 'tool') return decodeToolMessage(message, content, path)
  const calls = decodeToolCalls(message, path)
  // Clients of streams have an empty text where nothing was said before a call.
  const isSilent = calls.length > 0 && message.content === ''
  const parts: Part[] = [...decodeReasoning(message), ...(isSilent ? [] : content)]
  if (message.refusal) parts.push({ type: 'refusal', text: message.refusal })
  parts.push(...calls)
  return { role, parts: withFields(parts, message), ...(message.name && { name: message.name }) }
}

/** Fields of a message with a neutral meaning; the others ride on its first part. */
const MESSAGE_FIELDS = new Set([
  'role',
  'content',
  'name',
  'refusal',
  'tool_calls',
  'tool_call_id',
  'function_call',
  'reasoning_content',
  'reasoning',
  'reasoning_details',
])

function withFields(parts: readonly Part[], message: ChatMessage): readonly Part[] {
  const extra = Object.entries(message).filter(([key, value]) => !MESSAGE_FIELDS.has(key) && value !== null)
  const first = parts.findIndex(part => part.type !== 'opaque' && part.type !== 'reasoning')
  if (first === -1 || extra.length === 0) return parts
  return parts.map((part, i) => (i === first ? { ...part, extensions: { [FORMAT]: Object.fromEntries(extra) } } : part))
}

/** This format spends one message on each tool result; the neutral form keeps those of one turn together. */
function joinToolMessages(messages: readonly Message[]): Message[] {
  const joined: Message[] = []
  for (const message of messages) {
    const previous = joined.at(-1)
    if (message.role === 'tool' && previous?.role === 'tool') {
      joined[joined.length - 1] = { ...previous, parts: [...previous.parts, ...message.parts] }
    } else joined.push(message)
  }
  return joined
}

/** A legacy `function` message names its function instead of a call; the name then serves as the id. */
function decodeToolMessage(message: ChatMessage, parts: readonly Part[], path: string): Message {
  const callId = message.tool_call_id ?? message.name
  if (!callId) {
    throw new Fault('invalid_request', `\`${path}.tool_call_id\` is required in a tool message.`, {
      param: `${path}.tool_call_id`,
    })
  }
  const result: Part = { type: 'tool-result', callId, parts, ...(message.name && { name: message.name }) }
  return { role: 'tool', parts: withFields([result], message) }
}

function decodeToolCalls(message: ChatMessage, path: string): ToolCallPart[] {
  const calls = (message.tool_calls ?? []).map((call, index): ToolCallPart => {
    const signature = decodeCallSignature(call)
    const sealed = signature === undefined ? {} : { signature }
    if (call.custom) {
      const { name, input } = call.custom
      return { type: 'tool-call', kind: 'custom', id: call.id, name, arguments: input, ...sealed }
    }
    if (call.function) return { ...functionCall(call.id, call.function), ...sealed }
    const param = `${path}.tool_calls[${index}].function`
    throw new Fault('invalid_request', `\`${param}\` is required.`, { param })
  })
  const legacy = message.function_call
  if (!legacy) return calls
  return [...calls, functionCall(legacy.name, legacy)]
}

function functionCall(id: string, { name, arguments: written }: { name: string; arguments: string }): ToolCallPart {
  return { type: 'tool-call', kind: 'function', id, name, arguments: written }
}

function decodeContent(content: ChatMessage['content'], path: string): Part[] {
  if (content === null || content === undefined) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.map((part, index) => {
    const decode = Object.hasOwn(PARTS, part.type) ? PARTS[part.type] : undefined
    return decode?.(part, `${path}[${index}]`) ?? { type: 'opaque', format: FORMAT, value: part }
  })
}

type WirePart = Readonly<Record<string, unknown>>

/** Hosts of models that are told what to cache are told so here, in those models' own words. */
function cacheOf({ cache_control }: WirePart): { readonly cache?: CacheBreakpoint } {
  const cache = decodeCache(cache_control)
  return cache ? { cache } : {}
}

/** Content part types by their `type`; one that is missing here, or is another than the known, passes opaquely. */
const PARTS: Readonly<Record<string, (part: WirePart, path: string) => Part | undefined>> = Object.freeze({
  text: (part, path) => ({ type: 'text', text: text(part, 'text', path), ...cacheOf(part) }),
  refusal: (part, path) => ({ type: 'refusal', text: text(part, 'refusal', path) }),
  // Mistral's thoughts stand among the words of an answer.
  thinking: part => {
    const thought = thoughtText(part.thinking)
    return thought === undefined ? undefined : { type: 'reasoning', text: thought }
  },
  image_url: (part, path) => {
    // Mistral takes the address itself as well.
    const image = typeof part.image_url === 'string' ? { url: part.image_url } : object(part, 'image_url', path)
    const detail = 'detail' in image ? image.detail : undefined
    return {
      type: 'image',
      source: decodeUrl(text(image, 'url', `${path}.image_url`)),
      ...(typeof detail === 'string' && { detail }),
      ...cacheOf(part),
    }
  },
  video_url: (part, path) => ({
    type: 'video',
    source: decodeUrl(text(object(part, 'video_url', path), 'url', `${path}.video_url`)),
  }),
  input_audio: (part, path) => {
    const audio = object(part, 'input_audio', path)
    const format = text(audio, 'format', `${path}.input_audio`)
    const data = text(audio, 'data', `${path}.input_audio`)
    return { type: 'audio', source: { kind: 'base64', mediaType: `audio/${format}`, data }, format }
  },
  file: (part, path) => {
    const file = object(part, 'file', path)
    const source: Source =
      typeof file.file_id === 'string'
        ? { kind: 'file', id: file.file_id }
        : decodeUrl(text(file, 'file_data', `${path}.file`))
    const filename = typeof file.filename === 'string' && { filename: file.filename }
    return { type: 'document', source, ...filename, ...cacheOf(part) }
  },
})

/** `functions` is what `tools` was called before tools existed. */
function decodeTools(body: ChatCompletionsRequest): readonly Tool[] | undefined {
  const legacy = (body as WirePart).functions
  const functions = Array.isArray(legacy)
    ? legacy.map((f: unknown) => ({ type: 'function', function: f }) as ChatTool)
    : []
  const tools = [...(body.tools ?? []), ...functions]
  return tools.length === 0 ? undefined : tools.map(decodeTool)
}

function decodeTool(tool: ChatTool): Tool {
  const { type = 'function' } = tool
  const custom = type === 'custom' ? decodeCustomTool(tool) : undefined
  if (custom) return custom
  if (type !== 'function' || !tool.function) return { kind: 'opaque', format: FORMAT, value: tool }
  const { name, description, parameters, strict } = tool.function
  return {
    kind: 'function',
    name,
    ...(description && { description }),
    ...(parameters !== undefined && parameters !== null && { parameters }),
    ...(typeof strict === 'boolean' && { strict }),
  }
}

/** `undefined` for one whose text is to have a form that is unknown here. */
function decodeCustomTool({ custom }: ChatTool): Tool | undefined {
  if (!custom) return undefined
  const { name, description, format } = custom
  const wrapped = format?.type === 'grammar' ? (format as WirePart).grammar : undefined
  const grammar = decodeGrammar(wrapped)
  if (format && format.type !== 'text' && !grammar) return undefined
  return { kind: 'custom', name, ...(description && { description }), ...(grammar && { grammar }) }
}

/** `function_call` is what `tool_choice` was called before tools existed. */
function legacyToolChoice(body: ChatCompletionsRequest): ChatCompletionsRequest['tool_choice'] {
  const legacy = (body as WirePart).function_call
  if (isObject(legacy)) return { type: 'function', function: legacy }
  return typeof legacy === 'string' ? legacy : undefined
}

function decodeToolChoice(choice: ChatCompletionsRequest['tool_choice']): ToolChoice | undefined {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { mode: choice }
  // Mistral's word.
  if (choice === 'any') return { mode: 'required' }
  if (!isObject(choice)) return undefined
  if (isObject(choice.function)) return { mode: 'tool', name: text(choice.function, 'name', 'tool_choice.function') }
  if (isObject(choice.custom)) return { mode: 'tool', name: text(choice.custom, 'name', 'tool_choice.custom') }
  if (isObject(choice.allowed_tools) && Array.isArray(choice.allowed_tools.tools)) {
    const names = choice.allowed_tools.tools.flatMap(tool => (isObject(tool) ? toolName(tool) : []))
    return { mode: 'subset', names, isRequired: choice.allowed_tools.mode === 'required' }
  }
  return undefined
}

function toolName(tool: WirePart): string[] {
  const inner = isObject(tool.function) ? tool.function : isObject(tool.custom) ? tool.custom : tool
  return typeof inner.name === 'string' ? [inner.name] : []
}

function decodeOutputFormat(format: ChatCompletionsRequest['response_format']): OutputFormat | undefined {
  if (!format) return undefined
  if (format.type === 'json_object') return { type: 'json' }
  if (format.type !== 'json_schema') return { type: 'text' }
  const { json_schema: wrapped } = format as WirePart
  if (!isObject(wrapped)) {
    throw new Fault('invalid_request', '`response_format.json_schema` must be an object.', {
      param: 'response_format.json_schema',
    })
  }
  return {
    type: 'json-schema',
    schema: wrapped.schema,
    ...(typeof wrapped.name === 'string' && { name: wrapped.name }),
    ...(typeof wrapped.description === 'string' && { description: wrapped.description }),
    ...(typeof wrapped.strict === 'boolean' && { strict: wrapped.strict }),
  }
}
