import { type ErrorBody, errorBody, type Fault } from '#core/fault.ts'
import { isObject } from './json/parse.ts'
import { type ErrorRule, interpret } from './upstream-error.ts'

type Json = Readonly<Record<string, unknown>>

/** Statuses under which hosts speak of the request; and sometimes of what is ours. */
const ABOUT_REQUEST = [400, 422]

/** OpenAI's words (API reference, error codes), and those of hosts that speak its format in their own way. */
const RULES: readonly ErrorRule[] = [
  { codes: ['context_length_exceeded'], means: 'too-long' },
  // Perplexity
  { statuses: ABOUT_REQUEST, types: ['too_many_prompt_tokens'], means: 'too-long' },
  // Most hosts have no code for it.
  {
    statuses: ABOUT_REQUEST,
    message:
      /\bmax(imum)? context length\b|\bexceeds?\b.{0,30}\bcontext (window|size|length)\b|\bprompt is too long\b/i,
    means: 'too-long',
  },
  // Some hosts answer 400 to a key or a model that they do not know, and both are ours.
  { statuses: ABOUT_REQUEST, codes: ['model_not_found'], means: 'unknown-model' },
  { statuses: ABOUT_REQUEST, codes: ['invalid_api_key'], means: 'refused' },
  { statuses: ABOUT_REQUEST, message: /\b(incorrect|invalid) api key\b/i, means: 'refused' },
  // Comes as 429, and does not go away by waiting.
  { codes: ['insufficient_quota', 'billing_hard_limit_reached', 'account_deactivated'], means: 'unpaid' },
  { types: ['insufficient_quota'], means: 'unpaid' },
]

/** @param status HTTP status; 200 for an error that arrived inside a good answer or a stream */
export function decodeFault(status: number, body: unknown): Fault {
  const { code, type, message, param, ...rest } = fieldsOf(body)
  return interpret(
    RULES,
    {
      status: status < 400 ? (statusOf({ code, type, ...rest }) ?? status) : status,
      code,
      type,
      message,
      param: typeof param === 'string' ? param : undefined,
    },
    { status, error: body },
  )
}

/** The error object. xAI has a text in its place, and Mistral its fields at the top. */
function fieldsOf(body: unknown): Json {
  if (!isObject(body)) return {}
  if (isObject(body.error)) return body.error
  return typeof body.error === 'string' ? { ...body, message: body.error } : body
}

/** Words under which errors come inside good answers, and the status that they would have had. */
const STATUS_OF_WORD: ReadonlyMap<unknown, number> = new Map([
  ['content_filter', 400],
  ['rate_limit_exceeded', 429],
  ['insufficient_quota', 429],
])

/** The status that an error would have had on its own: OpenRouter tells it, and Azure's filter judges the prompt. */
function statusOf({ code }: Json): number | undefined {
  if (typeof code === 'number' && code >= 400 && code < 600) return code
  return STATUS_OF_WORD.get(code)
}

/** The gateway's own error object is this family's: OpenAI's four keys and the hint fields of the spec. */
export function encodeFault(fault: Fault): { status: number; body: ErrorBody } {
  return { status: fault.status, body: errorBody(fault) }
}
