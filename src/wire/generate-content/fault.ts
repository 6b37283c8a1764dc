import { FAULT_KINDS, type Fault } from '#core/fault.ts'
import { isObject } from '../json/parse.ts'
import { type ErrorRule, interpret } from '../upstream-error.ts'

type Json = Readonly<Record<string, unknown>>

/** Google's words (google.rpc.Code and ErrorInfo reasons), where the status alone says something else. */
const RULES: readonly ErrorRule[] = [
  // A bad key and a country that is not served come as 400, like mistakes of the client.
  { codes: ['FAILED_PRECONDITION'], means: 'refused' },
  { types: ['API_KEY_INVALID', 'API_KEY_SERVICE_BLOCKED', 'API_KEY_EXPIRED'], means: 'refused' },
  // The format has no code of its own for it.
  { message: /\btoken count\b.*\bexceeds the maximum\b/i, means: 'too-long' },
]

/** @param status HTTP status; 200 for an error that arrived inside a good answer or a stream and names its own */
export function decodeFault(status: number, body: unknown): Fault {
  // A stream that is a JSON array wraps its error in one as well.
  const [first] = Array.isArray(body) ? body : [body]
  const error: Json = isObject(first) && isObject(first.error) ? first.error : {}
  return interpret(
    RULES,
    {
      status: status < 400 && typeof error.code === 'number' ? error.code : status,
      code: error.status,
      type: reasonIn(error),
      message: error.message,
      param: fieldOf(error),
      retryAfterSeconds: retryDelaySeconds(error),
    },
    { status, error: body },
  )
}

function reasonIn(error: Json): unknown {
  return detailsOf(error).find(({ reason }) => typeof reason === 'string')?.reason
}

const DELAY = /^(\d+(?:\.\d+)?)s$/

/** The format has no header for it (google.rpc.RetryInfo). */
function retryDelaySeconds(error: Json): number | undefined {
  const delay = detailsOf(error).find(({ retryDelay }) => typeof retryDelay === 'string')?.retryDelay
  const seconds = DELAY.exec(String(delay))?.[1]
  return seconds === undefined ? undefined : Math.ceil(Number(seconds))
}

function fieldOf(error: Json): string | undefined {
  const violations = detailsOf(error).flatMap(({ fieldViolations }) =>
    Array.isArray(fieldViolations) ? fieldViolations.filter(isObject) : [],
  )
  const field = violations[0]?.field
  return typeof field === 'string' && field !== '' ? field : undefined
}

function detailsOf({ details }: Json): Json[] {
  return Array.isArray(details) ? details.filter(isObject) : []
}

/** The word of the family for each HTTP status (google.rpc.Code). */
const STATUS_WORDS: ReadonlyMap<number, string> = new Map([
  [400, 'INVALID_ARGUMENT'],
  [401, 'UNAUTHENTICATED'],
  // The family has no status for an empty purse; this is its word for billing.
  [402, 'FAILED_PRECONDITION'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [405, 'UNIMPLEMENTED'],
  [408, 'DEADLINE_EXCEEDED'],
  [409, 'ABORTED'],
  [413, 'INVALID_ARGUMENT'],
  [429, 'RESOURCE_EXHAUSTED'],
  [431, 'INVALID_ARGUMENT'],
  [500, 'INTERNAL'],
  [502, 'UNAVAILABLE'],
  [503, 'UNAVAILABLE'],
  [504, 'DEADLINE_EXCEEDED'],
])

const TYPE = 'type.googleapis.com/google.rpc'
const DOMAIN = 'tollgate'

/** Google's error object; the gateway's own code and hints stand in its details. */
export function encodeFault(fault: Fault): { status: number; body: unknown } {
  // A model that is not there is a path that is not there.
  const status = fault.code === 'model_not_found' ? 404 : fault.status
  const { param, message } = fault
  const { retryAfterSeconds } = fault.hints
  const details = [
    { '@type': `${TYPE}.ErrorInfo`, reason: reasonOf(fault), domain: DOMAIN, metadata: metadataOf(fault) },
    ...(param === undefined
      ? []
      : [{ '@type': `${TYPE}.BadRequest`, fieldViolations: [{ field: param, description: message }] }]),
    ...(retryAfterSeconds === undefined ? [] : [{ '@type': `${TYPE}.RetryInfo`, retryDelay: `${retryAfterSeconds}s` }]),
  ]
  return { status, body: { error: { code: status, message, status: STATUS_WORDS.get(status) ?? 'UNKNOWN', details } } }
}

function reasonOf({ code }: Fault): string {
  return (FAULT_KINDS[code].code ?? FAULT_KINDS[code].type).toUpperCase()
}

/** Texts only, as the family has it. */
function metadataOf({ hints }: Fault): Record<string, string> {
  const { didYouMean, suggestions, hint, balanceUsd, estimatedCostUsd, alternatives, requestId } = hints
  return {
    ...(didYouMean !== undefined && { did_you_mean: didYouMean }),
    ...(suggestions !== undefined && { suggestions: suggestions.join(', ') }),
    ...(hint !== undefined && { hint }),
    ...(balanceUsd !== undefined && { balance_usd: balanceUsd }),
    ...(estimatedCostUsd !== undefined && { estimated_cost_usd: estimatedCostUsd }),
    ...(alternatives !== undefined && { alternatives: alternatives.map(({ id }) => id).join(', ') }),
    ...(requestId !== undefined && { request_id: requestId }),
  }
}
