import assert from 'node:assert/strict'
import {
  ApiError,
  type Content,
  FunctionCallingConfigMode,
  type GenerateContentConfig,
  type GenerateContentParameters,
  type GenerateContentResponse,
  GoogleGenAI,
  type Part,
  ThinkingLevel,
} from '@google/genai'
import type { Answer, Conversation, Image, ToolChoice, Turn } from '../conversation.ts'
import type { Frame } from '../frames.ts'
import type { Ask, Client, Raised } from './client.ts'

export const generateContent: Client = {
  format: 'generate-content',
  ask: (way, ask) => (way === 'whole' ? whole(ask) : stream(ask)),
  describe,
  assertOrder,
  midwayKind: 'ApiError',
  stopWords: {
    end: 'STOP',
    sequence: 'STOP',
    calls: 'STOP',
    length: 'MAX_TOKENS',
    context: 'MAX_TOKENS',
    refusal: 'SAFETY',
  },
  counts: { input: 'always', output: 'always', cacheRead: 'where told', reasoning: 'where told' },
}

function google({ baseUrl, apiKey, exchange }: Ask): GoogleGenAI {
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl, fetch: exchange.fetch } })
}

async function whole(ask: Ask): Promise<Answer> {
  return read([await google(ask).models.generateContent(request(ask))])
}

async function stream(ask: Ask): Promise<Answer> {
  const pieces: GenerateContentResponse[] = []
  for await (const piece of await google(ask).models.generateContentStream(request(ask))) {
    pieces.push(piece)
    ask.onText?.()
  }
  return read(pieces)
}

function request({ model, conversation, signal }: Ask): GenerateContentParameters {
  const { turns } = conversation
  return {
    model,
    contents: turns.flatMap((turn, i) => encodeTurn(turn, turns[i - 1])),
    config: { ...config(conversation), ...(signal && { abortSignal: signal }) },
  }
}

const LEVELS = { low: ThinkingLevel.LOW, medium: ThinkingLevel.MEDIUM, high: ThinkingLevel.HIGH }

function config(conversation: Conversation): GenerateContentConfig {
  const { system, tools, toolChoice, schema, stop, effort, keptPrompt, maxTokens } = conversation
  const declarations = tools?.map(({ parameters, ...tool }) => ({ ...tool, parametersJsonSchema: parameters }))
  return {
    systemInstruction: system,
    maxOutputTokens: maxTokens,
    ...(declarations && { tools: [{ functionDeclarations: declarations }] }),
    ...(toolChoice && { toolConfig: { functionCallingConfig: encodeToolChoice(toolChoice) } }),
    ...(schema && { responseMimeType: 'application/json', responseJsonSchema: schema.schema }),
    ...(stop && { stopSequences: [...stop] }),
    ...(keptPrompt && { cachedContent: keptPrompt }),
    ...(effort && { thinkingConfig: { includeThoughts: true, thinkingLevel: LEVELS[effort] } }),
  }
}

function encodeToolChoice(choice: ToolChoice) {
  if (typeof choice !== 'string') return { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: [choice.name] }
  const { AUTO, NONE, ANY } = FunctionCallingConfigMode
  return { mode: { auto: AUTO, none: NONE, required: ANY }[choice] }
}

function encodeTurn(turn: Turn, before: Turn | undefined): Content[] {
  if (turn.by === 'user')
    return [{ role: 'user', parts: [{ text: turn.text }, ...(turn.images ?? []).map(encodeImage)] }]
  if (turn.by === 'model')
    return 'echo' in turn ? (turn.echo.turn as Content[]) : [{ role: 'model', parts: [{ text: turn.text }] }]
  const calls = before && 'echo' in before ? before.echo.calls : []
  const results = turn.results.map((output, i): Part => {
    const { id = '', name = '' } = calls[i] ?? {}
    return { functionResponse: { ...(id !== '' && { id }), name, response: { output } } }
  })
  return [{ role: 'user', parts: results }]
}

function encodeImage(image: Image): Part {
  if (image.kind === 'url') return { fileData: { fileUri: image.url, mimeType: 'image/png' } }
  return { inlineData: { mimeType: image.mediaType, data: image.data } }
}

function read(pieces: readonly GenerateContentResponse[]): Answer {
  const parts = pieces.flatMap(piece => piece.candidates?.[0]?.content?.parts ?? [])
  const texts = (isThought: boolean) =>
    parts.map(part => (Boolean(part.thought) === isThought ? (part.text ?? '') : '')).join('')
  const last = pieces.at(-1)
  const usage = last?.usageMetadata
  const { promptTokenCount, toolUsePromptTokenCount = 0, candidatesTokenCount, thoughtsTokenCount } = usage ?? {}
  return {
    text: texts(false),
    refusal: '',
    thinking: texts(true),
    seals: parts.flatMap(part => part.thoughtSignature ?? []),
    calls: parts.flatMap(({ functionCall: call }) =>
      call ? { id: call.id ?? '', name: call.name ?? '', arguments: call.args } : [],
    ),
    stop: last?.candidates?.[0]?.finishReason ?? last?.promptFeedback?.blockReason ?? '',
    usage: {
      input: promptTokenCount === undefined ? undefined : promptTokenCount + toolUsePromptTokenCount,
      cacheRead: usage?.cachedContentTokenCount,
      // Google leaves out counts of zero.
      output: usage && (candidatesTokenCount ?? 0) + (thoughtsTokenCount ?? 0),
      reasoning: thoughtsTokenCount,
    },
    model: last?.modelVersion ?? '',
    // As the SDK's own chats keep it: every piece is a content.
    turn: pieces.flatMap(piece => piece.candidates?.[0]?.content ?? []),
  }
}

/** The SDK's error has the status, and the body as its message. */
function describe(error: unknown): Raised {
  if (!(error instanceof ApiError)) return { kind: String(error), status: undefined, code: undefined, message: '' }
  const body = JSON.parse(error.message.replace(/^got status: .*?\. (?=\{)/, ''))
  return { kind: 'ApiError', status: error.status, code: body.error.status, message: body.error.message }
}

/** Every chunk is an answer of its own; the last one with a candidate says why it ended, and no other. */
function assertOrder(frames: readonly Frame[]): void {
  const chunks = frames.map(({ event, data }) => {
    assert.equal(event, undefined, 'events have no names')
    return JSON.parse(data) as GenerateContentResponse
  })
  const candidates = chunks.flatMap(chunk => chunk.candidates ?? [])
  const reasons = candidates.map(candidate => candidate.finishReason)
  assert.ok(reasons.at(-1) || chunks.at(-1)?.promptFeedback, 'the last one says why it ended')
  assert.ok(
    reasons.slice(0, -1).every(reason => !reason),
    'and no other does',
  )
  assert.ok(chunks.at(-1)?.usageMetadata, 'the last chunk has the usage')
}
