import { isUtf8 } from 'node:buffer'
import { Fault, type ValidationError } from '#core/fault.ts'
import { withoutExponent } from '#core/money.ts'
import type { Violation } from '#core/validate.ts'

/** How a body's fields are read before their schema is asked. */
export interface BodyOptions {
  /** Other spellings of fields that clients send, by the name that the schema knows. */
  readonly spellings: Readonly<Record<string, string>>
  /** Fields whose numbers carry money: they arrive as the text of their digits, never as floats. */
  readonly amounts: readonly string[]
}

/**
 * A request's JSON object; an empty body is an empty one.
 *
 * @throws Fault `invalid_request`
 */
export function parseBody(bytes: Buffer, { spellings, amounts }: BodyOptions): Record<string, unknown> {
  if (bytes.length === 0) return {}
  if (!isUtf8(bytes)) throw new Fault('invalid_request', 'The body is not valid UTF-8.')
  const known = (name: string) => (Object.hasOwn(spellings, name) ? (spellings[name] as string) : name)
  const value = parseJson(bytes.toString('utf8'), name => amounts.includes(known(name)))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Fault('invalid_request', 'The body must be a JSON object.')
  }
  const fields = Object.entries(value).map(([name, field]) => [known(name), field] as const)
  const repeated = fields.find(([name], i) => fields.findIndex(([other]) => other === name) < i)
  if (repeated) throw invalidFields([{ field: repeated[0], message: 'is given twice' }])
  return Object.fromEntries(fields)
}

function parseJson(text: string, isAmount: (name: string) => boolean): unknown {
  try {
    // The third argument is of ECMAScript 2026: what a number looked like before it became a float.
    return JSON.parse(text, (name: string, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' && isAmount(name) ? withoutExponent(context?.source ?? '') : value,
    )
  } catch (error) {
    throw new Fault('invalid_request', `The body is not valid JSON: ${(error as SyntaxError).message}.`)
  }
}

const SHOWN_CHARACTERS_MAX = 100

/** For routes whose body, if any, is empty. @throws Fault `invalid_request` naming a field */
export function refuseFields(body: Buffer): void {
  const [field] = Object.keys(parseBody(body, { spellings: {}, amounts: [] }))
  if (field !== undefined) {
    throw new Fault('invalid_request', `\`${field.slice(0, SHOWN_CHARACTERS_MAX)}\` is not a known field.`, {
      param: field,
    })
  }
}

/** The refusal of a body: the first field in the error, all of them beside it. */
export function invalidFields(errors: readonly ValidationError[]): Fault {
  const [first] = errors
  const sentence = errors.map(({ field, message }) => `\`${field}\` ${message}`).join('; ')
  return new Fault('invalid_request', `${sentence}.`, { param: first?.field, validationErrors: errors })
}

export function toValidationErrors(violations: readonly Violation[]): ValidationError[] {
  return violations.map(({ field, problem }) => ({ field, message: problem }))
}
