import { isUtf8 } from 'node:buffer'
import { Fault } from '#core/fault.ts'
import { scanMembers } from './members.ts'

/**
 * A client's JSON object.
 *
 * Refuses what different readers read differently: bytes that are not UTF-8, and top-level keys that repeat (we would
 * meter one `model` and the upstream serve the other) or that are called `__proto__`.
 *
 * @throws Fault `invalid_request`
 */
export function parseJsonObject(bytes: Buffer): Record<string, unknown> {
  if (bytes.length === 0) throw new Fault('invalid_request', 'The body is empty; send a JSON object.')
  if (!isUtf8(bytes)) throw new Fault('invalid_request', 'The body is not valid UTF-8.')
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    throw new Fault('invalid_request', `The body is not valid JSON: ${(error as SyntaxError).message}.`)
  }
  if (!isObject(value)) throw new Fault('invalid_request', 'The body must be a JSON object.')
  const seen = new Set<string>()
  for (const { key } of scanMembers(bytes)) {
    if (seen.has(key)) throw new Fault('invalid_request', `\`${key}\` appears twice in the body.`, { param: key })
    if (key === '__proto__') throw new Fault('invalid_request', '`__proto__` is not a field.', { param: key })
    seen.add(key)
  }
  return value
}

/** Parsed JSON, or `undefined` for bytes that are none: an upstream's answer before anyone has looked at it. */
export function tryParse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
