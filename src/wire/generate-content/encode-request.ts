import type { Call, Message, Part, Tool, ToolChoice, ToolResultPart } from '#core/call.ts'
import type { Quirks, Target } from '#core/work.ts'
import type { EncodedRequest } from '../format.ts'
import { isObject } from '../json/parse.ts'
import { CACHE_FIELDS, gatherLosses, lacking, type Warn, warnOfLosses } from '../losses.ts'
import { FORMAT, PLACEHOLDER_SIGNATURE } from './decode-parts.ts'
import { asObject, encodeGenerationConfig, unlessEmpty, withoutUndefined } from './encode-generation-config.ts'
import { encodeParts, type Json } from './encode-parts.ts'
import { toSchemaSubset } from './json-schema.ts'

/** neutral → upstream (see `WireFormat`). Model and stream flag stand in the path, so the body has neither. */
export function encodeRequest(call: Call, { quirks }: Target): EncodedRequest {
  const { warn, warnings } = gatherLosses(FORMAT)
  warnOfLosses(call, FORMAT, LACKING, warn)
  const { toolConfig, generationConfig, ...extra } = call.extensions[FORMAT] ?? {}
  const { system, conversation } = splitMessages(call.messages)
  const instructions = encodeParts(
    system.flatMap(message => message.parts),
    warn,
  )
  const body = withoutUndefined({
    ...extra,
    systemInstruction: instructions.length === 0 ? undefined : { parts: instructions },
    contents: encodeContents(conversation, quirks, warn),
    tools: call.tools && encodeTools(call.tools, quirks, warn),
    toolConfig: encodeToolConfig(call.toolChoice, asObject(toolConfig)),
    generationConfig: encodeGenerationConfig(call, asObject(generationConfig), quirks, warn),
  })
  return { body, warnings: warnings() }
}

/** `labels` look like `metadata`, but the public API refuses them; and a file's name, for which there is a field. */
const LACKING = lacking(
  'call.verbosity',
  'call.translation',
  'call.cacheKey',
  'call.endUser',
  'call.metadata',
  'call.serviceTier',
  'call.parallelToolCalls',
  'output.description',
  'output.strict',
  'tool.strict',
  'message.name',
  'text.citations',
  'image.detail',
  'document.filename',
  'reasoning.encrypted',
  ...CACHE_FIELDS,
)

/** The instructions before the conversation. Where there is nothing else, they are what is asked. */
function splitMessages(messages: readonly Message[]): { system: readonly Message[]; conversation: readonly Message[] } {
  const start = messages.findIndex(message => !isSystem(message))
  if (start === -1) return { system: [], conversation: messages.map(({ parts }) => ({ role: 'user', parts })) }
  return { system: messages.slice(0, start), conversation: messages.slice(start) }
}

function isSystem({ role }: Message): boolean {
  return role === 'system' || role === 'developer'
}

interface Content {
  readonly role: 'user' | 'model'
  readonly parts: Json[]
}

/** Turns must alternate, and all results of a turn stand in one content: neighbours of one role are joined. */
function encodeContents(messages: readonly Message[], quirks: Quirks, warn: Warn): Content[] {
  const contents: Content[] = []
  const names = new Map<string, string>()
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'model' : 'user'
    const parts = encodeMessage(message, names, quirks, warn)
    for (const part of message.parts) if (part.type === 'tool-call') names.set(part.id, part.name)
    const last = contents.at(-1)
    if (last?.role === role) last.parts.push(...parts)
    else if (parts.length > 0) contents.push({ role, parts })
  }
  return quirks.placeholderSignatures === false ? contents : contents.map(withPlaceholder)
}

/**
 * Newer models ask for a signature on the first call of each step and refuse a history that another vendor's model
 * wrote, or one that passed through a format without signatures, unless this stands for it.
 */
function withPlaceholder({ role, parts }: Content): Content {
  const call = parts.find(part => 'functionCall' in part)
  if (role !== 'model' || !call || 'thoughtSignature' in call) return { role, parts }
  const marked = { ...call, thoughtSignature: PLACEHOLDER_SIGNATURE }
  return { role, parts: parts.map(part => (part === call ? marked : part)) }
}

function encodeMessage(message: Message, names: ReadonlyMap<string, string>, quirks: Quirks, warn: Warn): Json[] {
  if (isSystem(message)) return encodeLateSystem(message, warn)
  if (message.role !== 'tool') {
    const parts = encodeParts(message.parts, warn)
    return quirks.functionIds === false ? parts.map(withoutId) : parts
  }
  return message.parts.flatMap(part => {
    if (part.type !== 'tool-result') return encodeParts([part], warn)
    const result = encodeResult(part, names, warn)
    return [quirks.functionIds === false ? withoutId(result) : result]
  })
}

/** There is one place for instructions, before the conversation; later ones go on as marked words of the user. */
function encodeLateSystem(message: Message, warn: Warn): Json[] {
  warn('a system message after the first turn')
  const parts = message.parts.map(
    (part): Part => (part.type === 'text' ? { ...part, text: `<system>\n${part.text}\n</system>` } : part),
  )
  return encodeParts(parts, warn)
}

function withoutId(part: Json): Json {
  const key = 'functionCall' in part ? 'functionCall' : 'functionResponse'
  if (!isObject(part[key])) return part
  const { id: _, ...rest } = part[key]
  return { ...part, [key]: rest }
}

/** A result names its function here, which other formats leave to the call. */
function encodeResult(result: ToolResultPart, names: ReadonlyMap<string, string>, warn: Warn): Json {
  const { callId, parts, isError } = result
  const texts = parts.flatMap(part => (part.type === 'text' || part.type === 'refusal' ? part.text : []))
  const opaque = parts.filter(part => part.type === 'opaque' && part.format === FORMAT)
  const extras = opaque.map(part => (part.type === 'opaque' && isObject(part.value) ? part.value.functionResponse : {}))
  const media = encodeParts(
    parts.filter(part => part.type !== 'text' && part.type !== 'refusal' && !isResponseExtra(part)),
    warn,
  )
  const response = texts.length === 0 && !isError ? {} : { [isError ? 'error' : 'output']: texts.join('\n') }
  return {
    functionResponse: {
      ...(callId !== '' && { id: callId }),
      name: result.name ?? names.get(callId) ?? callId,
      response,
      ...(media.length > 0 && { parts: media }),
      ...Object.assign({}, ...extras.filter(isObject)),
    },
  }
}

function isResponseExtra(part: Part): boolean {
  return part.type === 'opaque' && part.format === FORMAT && isObject(part.value) && 'functionResponse' in part.value
}

/** All functions stand in one list; what only this format knows of one is put back onto it. */
function encodeTools(tools: readonly Tool[], quirks: Quirks, warn: Warn): Json[] {
  const declarations = new Map<string, Json>()
  const others: Json[] = []
  for (const tool of tools) {
    if (tool.kind === 'function') declarations.set(tool.name, encodeFunction(tool, quirks))
    else if (tool.kind === 'custom') warn('a custom tool')
    else if (tool.format !== FORMAT || !isObject(tool.value)) warn(`a tool of ${tool.format}`)
    else if (!Array.isArray(tool.value.functionDeclarations)) others.push(tool.value)
    else {
      for (const extra of tool.value.functionDeclarations.filter(isObject)) {
        const name = String(extra.name)
        declarations.set(name, { ...declarations.get(name), ...extra })
      }
    }
  }
  return [...(declarations.size > 0 ? [{ functionDeclarations: [...declarations.values()] }] : []), ...others]
}

function encodeFunction(tool: Extract<Tool, { kind: 'function' }>, quirks: Quirks): Json {
  const { name, description, parameters } = tool
  if (isArgumentless(parameters)) return withoutUndefined({ name, description })
  return withoutUndefined({
    name,
    description,
    ...(quirks.jsonSchemas === false
      ? { parameters: toSchemaSubset(parameters) }
      : { parametersJsonSchema: parameters }),
  })
}

/** Some models refuse an object without properties. */
function isArgumentless(schema: unknown): boolean {
  if (schema === undefined || schema === null) return true
  if (!isObject(schema) || schema.type !== 'object') return false
  return isObject(schema.properties) && Object.keys(schema.properties).length === 0 && !schema.additionalProperties
}

function encodeToolConfig(choice: ToolChoice | undefined, extra: Json): Json | undefined {
  const functionCallingConfig = unlessEmpty({ ...encodeToolChoice(choice), ...asObject(extra.functionCallingConfig) })
  return unlessEmpty({ ...extra, ...(functionCallingConfig && { functionCallingConfig }) })
}

const MODES = Object.freeze({ auto: 'AUTO', none: 'NONE', required: 'ANY' })

function encodeToolChoice(choice: ToolChoice | undefined): Json {
  if (choice === undefined) return {}
  if (choice.mode === 'tool') return { mode: 'ANY', allowedFunctionNames: [choice.name] }
  if (choice.mode !== 'subset') return { mode: MODES[choice.mode] }
  // A list of names goes with these two modes only.
  return { mode: choice.isRequired ? 'ANY' : 'VALIDATED', allowedFunctionNames: choice.names }
}
