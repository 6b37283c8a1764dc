import { errorBody, type Fault, type FaultCode } from '#core/fault.ts'
import { isObject } from '../json/parse.ts'
import { type ErrorRule, interpret } from '../upstream-error.ts'

/** HTTP statuses and their error types (Anthropic API reference, errors). */
const TYPES: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [500, 'api_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
])

const STATUSES: ReadonlyMap<string, number> = new Map([...TYPES].map(([status, type]) => [type, status]))

/** The status that this format has for a fault, where that is not the gateway's own. */
const STATUS_OF_CODE: Readonly<Partial<Record<FaultCode, number>>> = Object.freeze({
  model_not_found: 404,
  upstream_error: 500,
  all_channels_failed: 529,
  service_unavailable: 529,
})

/** Anthropic's words (API reference, errors), where the status alone says something else. */
const RULES: readonly ErrorRule[] = [
  // The API has no code for it, only this sentence.
  { statuses: [400], message: /prompt is too long|exceeds? (the )?(maximum )?context/i, means: 'too-long' },
  // An account without credit is told so under 400.
  { statuses: [400], message: /credit balance is too low/i, means: 'unpaid' },
]

/** @param status HTTP status; 200 for an error that arrived inside a good answer or a stream, whose type then says it */
export function decodeFault(status: number, body: unknown): Fault {
  const { type, message }: Readonly<Record<string, unknown>> = isObject(body) && isObject(body.error) ? body.error : {}
  const meant = status === 200 ? STATUSES.get(String(type)) : status
  return interpret(RULES, { status: meant ?? status, type, message }, { status, error: body })
}

/** The envelope and the types of this format; code, field and hints stand beside them as the gateway has them. */
export function encodeFault(fault: Fault, requestId?: string): { status: number; body: Record<string, unknown> } {
  const status = STATUS_OF_CODE[fault.code] ?? fault.status
  const type = TYPES.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  const error = { ...errorBody(fault).error, message: messageOf(fault), type }
  return { status, body: { type: 'error', error, ...(requestId !== undefined && { request_id: requestId }) } }
}

/** Programs of this family know an overflow, for which there is no code, by its first words. */
function messageOf({ code, message }: Fault): string {
  if (code !== 'context_length_exceeded' || /prompt is too long/i.test(message)) return message
  return `prompt is too long: ${message}`
}
