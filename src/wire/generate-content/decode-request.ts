import type {
  Call,
  Message,
  OutputFormat,
  Part,
  ReasoningControl,
  Tool,
  ToolChoice,
  ToolResultPart,
} from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import { isObject } from '../json/parse.ts'
import { decodePart, derivedCallId, FORMAT, type Json, joinPieces } from './decode-parts.ts'
import { toJsonSchema } from './json-schema.ts'
import { decodeMedia } from './media.ts'
import { readBody } from './read-body.ts'
import type { GenerateContentRequest, WireContent, WireGenerationConfig, WirePart } from './schema.ts'

/** client → neutral (see `WireFormat`); `model` and `stream` come from the path (see `index.ts`). */
export function decodeRequest(body: unknown): Call {
  const request = readBody(body)
  const config = withoutNull(request.generationConfig ?? {}) as WireGenerationConfig
  const n = undefinedIfNull
  return {
    model: request.model,
    messages: [...decodeSystem(request.systemInstruction), ...decodeContents(request.contents)],
    tools: decodeTools(request.tools),
    toolChoice: decodeToolChoice(request.toolConfig),
    output: decodeOutput(config),
    maxOutputTokens: n(config.maxOutputTokens),
    temperature: n(config.temperature),
    topP: n(config.topP),
    topK: n(config.topK),
    presencePenalty: n(config.presencePenalty),
    frequencyPenalty: n(config.frequencyPenalty),
    seed: n(config.seed),
    stop: n(config.stopSequences),
    choices: n(config.candidateCount),
    topLogprobs: config.responseLogprobs ? (config.logprobs ?? 0) : undefined,
    reasoning: decodeReasoning(config.thinkingConfig),
    modalities: config.responseModalities?.map(modality => modality.toLowerCase()),
    audioOutput: decodeSpeech(config.speechConfig),
    isStream: request.stream === true,
    // The format has no option for it: usage always comes.
    wantsStreamUsage: request.stream === true,
    extensions: decodeExtensions(request, config),
  }
}

function undefinedIfNull<T>(value: T | null | undefined): T | undefined {
  return value ?? undefined
}

function withoutNull(fields: Json): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))
}

function decodeSystem(instruction: GenerateContentRequest['systemInstruction']): Message[] {
  if (!instruction) return []
  if (typeof instruction === 'string') return [{ role: 'system', parts: [{ type: 'text', text: instruction }] }]
  const parts = (instruction.parts ?? []).flatMap(part => decodePart(withoutNull(part), () => ''))
  return parts.length === 0 ? [] : [{ role: 'system', parts }]
}

const ROLES: ReadonlyMap<string, 'user' | 'assistant'> = new Map([
  ['', 'user'],
  ['user', 'user'],
  ['function', 'user'],
  ['model', 'assistant'],
])

/** Function calls of the conversation so far, so that results without an id find theirs. */
interface Calls {
  count: number
  readonly unanswered: { readonly id: string; readonly name: string }[]
}

function decodeContents(contents: readonly WireContent[]): Message[] {
  const calls: Calls = { count: 0, unanswered: [] }
  const messages = contents.flatMap((content, index) => {
    const role = ROLES.get((content.role ?? '').toLowerCase())
    if (role === undefined) {
      const param = `contents[${index}].role`
      throw new Fault('invalid_request', `\`${param}\` must be user or model.`, { param })
    }
    return decodeContent(role, content.parts ?? [], calls)
  })
  return joinAnswers(messages)
}

/** Function results stand among a user's parts here, and in messages of their own in the neutral form. */
function decodeContent(role: 'user' | 'assistant', parts: readonly WirePart[], calls: Calls): Message[] {
  const messages: { role: Message['role']; parts: Part[] }[] = []
  const add = (to: Message['role'], added: readonly Part[]) => {
    const last = messages.at(-1)
    if (last?.role === to) last.parts.push(...added)
    else if (added.length > 0) messages.push({ role: to, parts: [...added] })
  }
  for (const part of parts) {
    const wire = withoutNull(part)
    if (isObject(wire.functionResponse)) add('tool', [decodeResult(wire.functionResponse, calls)])
    else
      add(
        role,
        decodePart(wire, () => derivedCallId('', 0, calls.count)).map(each => noteCall(each, calls)),
      )
  }
  return messages
}

const THOUGHTS: ReadonlySet<Part['type']> = new Set(['reasoning'])

/**
 * A streamed answer comes back in pieces: the SDK's chats keep every chunk as a content of its own. What the signature
 * of a thought seals is the whole.
 */
function joinAnswers(messages: readonly Message[]): Message[] {
  const joined: Message[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    const isMore = message.role === 'assistant' && last?.role === 'assistant'
    if (isMore) joined.splice(-1, 1, { ...last, parts: [...last.parts, ...message.parts] })
    else joined.push(message)
  }
  return joined.map(message => ({ ...message, parts: joinPieces(message.parts, THOUGHTS) }))
}

function noteCall(part: Part, calls: Calls): Part {
  if (part.type !== 'tool-call') return part
  calls.count += 1
  calls.unanswered.push({ id: part.id, name: part.name })
  return part
}

/** Fields of a function response with a neutral meaning; the others ride in its parts. */
const RESULT_FIELDS = new Set(['id', 'name', 'response', 'parts'])

/** A result without an id belongs to the first call of its function that has none yet. */
function decodeResult(result: Json, { unanswered }: Calls): ToolResultPart {
  const name = typeof result.name === 'string' ? result.name : ''
  const given = typeof result.id === 'string' && result.id !== '' ? result.id : undefined
  const at = unanswered.findIndex(call => (given === undefined ? call.name === name : call.id === given))
  const [call] = at === -1 ? [] : unanswered.splice(at, 1)
  const { text, isError } = resultText(isObject(result.response) ? result.response : {})
  const media = Array.isArray(result.parts) ? result.parts.filter(isObject) : []
  const extra = Object.entries(result).filter(([key, value]) => !RESULT_FIELDS.has(key) && value !== null)
  return {
    type: 'tool-result',
    callId: given ?? call?.id ?? name,
    name,
    parts: [
      ...(text === undefined ? [] : [{ type: 'text', text } as const]),
      ...media.map(decodeResultMedia),
      ...(extra.length === 0
        ? []
        : [{ type: 'opaque', format: FORMAT, value: { functionResponse: Object.fromEntries(extra) } } as const]),
    ],
    ...(isError && { isError }),
  }
}

function decodeResultMedia(part: Json): Part {
  if (isObject(part.inlineData) || isObject(part.fileData)) return decodeMedia(part)
  return { type: 'opaque', format: FORMAT, value: part }
}

/** `output` and `error` are the keys that models know; any other object is the result itself. */
function resultText(response: Json): { text: string | undefined; isError: boolean } {
  const [only, ...others] = Object.keys(response)
  if (only === undefined) return { text: undefined, isError: false }
  const isWrapped = others.length === 0 && (only === 'output' || only === 'error')
  const value = isWrapped ? response[only] : response
  return { text: typeof value === 'string' ? value : JSON.stringify(value), isError: isWrapped && only === 'error' }
}

function decodeTools(tools: GenerateContentRequest['tools']): readonly Tool[] | undefined {
  const decoded = (tools ?? []).flatMap(({ functionDeclarations, ...others }): Tool[] => {
    const opaque = Object.entries(withoutNull(others)).map(
      ([key, value]): Tool => ({ kind: 'opaque', format: FORMAT, value: { [key]: value } }),
    )
    return [...(functionDeclarations ?? []).flatMap(decodeDeclaration), ...opaque]
  })
  return decoded.length === 0 ? undefined : decoded
}

type Declaration = NonNullable<NonNullable<GenerateContentRequest['tools']>[number]['functionDeclarations']>[number]

/** What only this format knows of a function (`behavior`, `response`) rides in an opaque tool under its name. */
function decodeDeclaration(declaration: Declaration): Tool[] {
  const { name, description, parameters, parametersJsonSchema, ...extra } = withoutNull(declaration)
  const schema = parametersJsonSchema ?? toJsonSchema(parameters)
  const tool: Tool = {
    kind: 'function',
    name: name as string,
    ...(description !== undefined && description !== '' && { description: description as string }),
    ...(schema !== undefined && { parameters: schema }),
  }
  if (Object.keys(extra).length === 0) return [tool]
  return [tool, { kind: 'opaque', format: FORMAT, value: { functionDeclarations: [{ name, ...extra }] } }]
}

function decodeToolChoice(config: GenerateContentRequest['toolConfig']): ToolChoice | undefined {
  const { mode, allowedFunctionNames } = config?.functionCallingConfig ?? {}
  const names = allowedFunctionNames ?? []
  const isRequired = mode?.toUpperCase() === 'ANY'
  if (isRequired && names[0] !== undefined && names.length === 1) return { mode: 'tool', name: names[0] }
  switch (mode?.toUpperCase()) {
    case 'NONE':
      return { mode: 'none' }
    case 'ANY':
      return names.length === 0 ? { mode: 'required' } : { mode: 'subset', names, isRequired }
    case 'AUTO':
    case 'VALIDATED':
      return names.length === 0 ? { mode: 'auto' } : { mode: 'subset', names, isRequired }
    default:
      return undefined
  }
}

function decodeOutput(config: WireGenerationConfig): OutputFormat | undefined {
  if (config.responseMimeType === 'text/plain') return { type: 'text' }
  if (config.responseMimeType !== 'application/json') return undefined
  const schema = config.responseJsonSchema ?? toJsonSchema(config.responseSchema)
  return schema === undefined ? { type: 'json' } : { type: 'json-schema', schema }
}

/** A budget of 0 switches thinking off; -1 leaves it to the model, which is also what no budget says. */
function decodeReasoning(config: WireGenerationConfig['thinkingConfig']): ReasoningControl | undefined {
  const { thinkingBudget: budget, thinkingLevel: level, includeThoughts } = config ?? {}
  const effort = budget === 0 ? 'none' : level?.toLowerCase()
  const reasoning: ReasoningControl = {
    ...(effort && { effort }),
    ...(typeof budget === 'number' && budget > 0 && { budgetTokens: budget }),
    ...(typeof includeThoughts === 'boolean' && { isShown: includeThoughts }),
  }
  return Object.keys(reasoning).length === 0 ? undefined : reasoning
}

/** Speech comes as 16-bit samples whatever one asks for. */
const SPEECH_FORMAT = 'pcm16'

function decodeSpeech(config: WireGenerationConfig['speechConfig']): Call['audioOutput'] {
  const voice = soleVoice(config)
  return voice === undefined ? undefined : { voice, format: SPEECH_FORMAT }
}

/** The voice's name when that is all that a speech config says. */
function soleVoice(config: object | null | undefined): string | undefined {
  const inner = ['voiceConfig', 'prebuiltVoiceConfig', 'voiceName'].reduce<unknown>(
    (value, key) => (isObject(value) && Object.keys(value).length === 1 ? value[key] : undefined),
    config,
  )
  return typeof inner === 'string' ? inner : undefined
}

const KNOWN_FIELDS = new Set([
  'model',
  'stream',
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
])

/** What has no neutral meaning, where it stood. */
function decodeExtensions(request: GenerateContentRequest, config: WireGenerationConfig): Call['extensions'] {
  const toolConfig = extraToolConfig(withoutNull(request.toolConfig ?? {}))
  const generationConfig = extraGenerationConfig(config)
  const extra = {
    ...Object.fromEntries(Object.entries(withoutNull(request)).filter(([key]) => !KNOWN_FIELDS.has(key))),
    ...(Object.keys(toolConfig).length > 0 && { toolConfig }),
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
  }
  return Object.keys(extra).length === 0 ? {} : { [FORMAT]: extra }
}

const KNOWN_MODES = new Set(['AUTO', 'ANY', 'NONE'])

function extraToolConfig({ functionCallingConfig, ...others }: Record<string, unknown>): Json {
  if (!isObject(functionCallingConfig)) return others
  const { mode, allowedFunctionNames: names, ...extra } = withoutNull(functionCallingConfig)
  const isKnown = mode === undefined || KNOWN_MODES.has(String(mode).toUpperCase())
  const kept = isKnown || names !== undefined ? extra : { mode, ...extra }
  return Object.keys(kept).length === 0 ? others : { ...others, functionCallingConfig: kept }
}

const KNOWN_CONFIG = new Set([
  'maxOutputTokens',
  'temperature',
  'topP',
  'topK',
  'presencePenalty',
  'frequencyPenalty',
  'seed',
  'stopSequences',
  'candidateCount',
  'responseLogprobs',
  'logprobs',
  'responseModalities',
])

function extraGenerationConfig(config: WireGenerationConfig): Json {
  const known = new Set(KNOWN_CONFIG)
  if (decodeOutput(config)) for (const key of OUTPUT_CONFIG) known.add(key)
  if (decodeSpeech(config.speechConfig)) known.add('speechConfig')
  const { thinkingConfig, ...others } = Object.fromEntries(Object.entries(config).filter(([key]) => !known.has(key)))
  const thinking = isObject(thinkingConfig) ? extraThinkingConfig(thinkingConfig) : {}
  return { ...others, ...(Object.keys(thinking).length > 0 && { thinkingConfig: thinking }) }
}

const OUTPUT_CONFIG = ['responseMimeType', 'responseSchema', 'responseJsonSchema']

function extraThinkingConfig(config: Json): Json {
  const { includeThoughts: _, thinkingLevel: __, thinkingBudget, ...extra } = withoutNull(config)
  return typeof thinkingBudget === 'number' && thinkingBudget < 0 ? { thinkingBudget, ...extra } : extra
}
