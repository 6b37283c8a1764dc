import { generateContent as generateContentFormat } from '#wire/generate-content/index.ts'
import { isObject, tryParse } from '#wire/json/parse.ts'
import { hostedMessages } from '#wire/messages/hosted.ts'
import { messages as messagesFormat } from '#wire/messages/index.ts'
import type { Endpoint, Message } from '../provider.ts'
import type { VertexSettings } from './settings.ts'

const LOCATION = 'global'

/** Whose quota is used; keys of express mode know that by themselves. */
function scopeOf({ project, location = LOCATION }: VertexSettings): string {
  return project === undefined ? '/v1' : `/v1/projects/${project}/locations/${location}`
}

/** Vertex AI locations: one host for the world, one for each of two continents, one for each region. */
export function hostOf({ location = LOCATION }: VertexSettings): string {
  if (location === LOCATION) return 'https://aiplatform.googleapis.com'
  if (location === 'us' || location === 'eu') return `https://aiplatform.${location}.rep.googleapis.com`
  return `https://${location}-aiplatform.googleapis.com`
}

/** What a model's publisher offers, at its place in the project. */
function published(publisher: string, action: string): (settings: VertexSettings) => string {
  return settings => `${scopeOf(settings)}/publishers/${publisher}/models/${action}`
}

const CLAUDE = /^claude-/
const GEMINI = /^(?!claude-)[^/]+$/

/** Vertex AI reference, "generateContent". */
export const generateContent: Endpoint = Object.freeze({
  format: 'generate-content',
  path: published('google', '{model}:generateContent'),
  streamPath: published('google', '{model}:streamGenerateContent?alt=sse'),
  models: GEMINI,
})

/** Vertex AI reference, "countTokens": the fields of the request stand in the question itself. */
export const contentTokens: Endpoint = Object.freeze({
  format: 'generate-content',
  path: published('google', '{model}:countTokens'),
  models: GEMINI,
  adapt: unwrapRequest,
})

const VERSION = 'vertex-2023-10-16'

/** Vertex AI, "Use Anthropic's Claude models". Google's own errors come from there as well as Anthropic's. */
export const messages: Endpoint = Object.freeze({
  format: 'messages',
  path: published('anthropic', '{model}:rawPredict'),
  streamPath: published('anthropic', '{model}:streamRawPredict'),
  models: CLAUDE,
  adapt: hostedMessages({ version: VERSION, inAddress: ['model'], betas: 'header' }),
  decodeFault,
})

/** Vertex AI, "Count tokens for Claude models": a model of its own, which is told the other in the body. */
export const messageTokens: Endpoint = Object.freeze({
  format: 'messages',
  path: published('anthropic', 'count-tokens:rawPredict'),
  models: CLAUDE,
  adapt: hostedMessages({ version: VERSION, inAddress: [], betas: 'header' }),
  decodeFault,
})

/** Vertex AI, "Chat Completions API": models of other publishers, `publisher/model`. */
export const chatCompletions: Endpoint = Object.freeze({
  format: 'chat-completions',
  path: (settings: VertexSettings) => `${scopeOf(settings)}/endpoints/openapi/chat/completions`,
  models: /\//,
})

function unwrapRequest(message: Message): Message {
  const { generateContentRequest: request } = JSON.parse(Buffer.from(message.body).toString())
  const { contents, systemInstruction, tools, generationConfig } = request
  return { ...message, body: Buffer.from(JSON.stringify({ contents, systemInstruction, tools, generationConfig })) }
}

function decodeFault(status: number, bytes: Buffer): ReturnType<typeof messagesFormat.decodeFault> {
  const body = tryParse(bytes)
  const format = isObject(body) && body.type === 'error' ? messagesFormat : generateContentFormat
  return format.decodeFault(status, body)
}
