import type { Format } from '../canned/formats.ts'
import type { Contender } from './contenders.ts'

const SYSTEM = 'You are a helpful assistant. Answer in one or two plain sentences.'
const QUESTION = 'Why is the sky blue at noon, and red when the sun goes down? Explain it to a child.'
const TEMPERATURE = 0.7
const OUTPUT_TOKENS_MAX = 256

interface RequestShape {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}

/** The same question in each format. */
const SHAPES: Readonly<Record<Format, (model: string, isStream: boolean) => RequestShape>> = {
  'chat-completions': (model, stream) => ({
    path: '/v1/chat/completions',
    body: {
      model,
      messages: [
        { role: 'system', content: SYSTEM },
        { role: 'user', content: QUESTION },
      ],
      temperature: TEMPERATURE,
      max_tokens: OUTPUT_TOKENS_MAX,
      stream,
    },
  }),
  messages: (model, stream) => ({
    path: '/v1/messages',
    headers: { 'anthropic-version': '2023-06-01' },
    body: {
      model,
      system: SYSTEM,
      messages: [{ role: 'user', content: QUESTION }],
      temperature: TEMPERATURE,
      max_tokens: OUTPUT_TOKENS_MAX,
      stream,
    },
  }),
  responses: (model, stream) => ({
    path: '/v1/responses',
    body: {
      model,
      instructions: SYSTEM,
      input: QUESTION,
      temperature: TEMPERATURE,
      max_output_tokens: OUTPUT_TOKENS_MAX,
      stream,
      store: false,
    },
  }),
  'generate-content': (model, isStream) => ({
    path: `/v1beta/models/${model}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: {
      systemInstruction: { parts: [{ text: SYSTEM }] },
      contents: [{ role: 'user', parts: [{ text: QUESTION }] }],
      generationConfig: { temperature: TEMPERATURE, maxOutputTokens: OUTPUT_TOKENS_MAX },
    },
  }),
}

export interface RequestOptions {
  readonly isStream: boolean
  readonly format?: Format
}

export interface ChatRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export function chatRequest(
  { headers, model }: Pick<Contender, 'headers' | 'model'>,
  { isStream, format = 'chat-completions' }: RequestOptions,
): ChatRequest {
  const shape = SHAPES[format](model, isStream)
  const own = {
    'content-type': 'application/json',
    accept: isStream ? 'text/event-stream' : 'application/json',
    'user-agent': 'tollgate-bench',
  }
  return { path: shape.path, headers: { ...own, ...headers, ...shape.headers }, body: JSON.stringify(shape.body) }
}

/** A chat request's bytes, as an SDK would send them. */
export function chatRequestBytes(
  contender: Pick<Contender, 'port' | 'headers' | 'model'>,
  options: RequestOptions,
): string {
  const { path, headers, body } = chatRequest(contender, options)
  const fields = { host: `127.0.0.1:${contender.port}`, ...headers, 'content-length': String(Buffer.byteLength(body)) }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
