import { Fault } from '#core/fault.ts'
import { isObject } from './parse.ts'

type Json = Readonly<Record<string, unknown>>

/** @throws Fault `invalid_request` naming the field, unless it is a string */
export function textField(owner: Json, field: string, path: string): string {
  const value = owner[field]
  if (typeof value === 'string') return value
  throw new Fault('invalid_request', `\`${path}.${field}\` must be a string.`, { param: `${path}.${field}` })
}

/** @throws Fault `invalid_request` naming the field, unless it is an object */
export function objectField(owner: Json, field: string, path: string): Json {
  const value = owner[field]
  if (isObject(value)) return value
  throw new Fault('invalid_request', `\`${path}.${field}\` must be an object.`, { param: `${path}.${field}` })
}

/** The members of `owner` that are named and there. */
export function pickFields(owner: Json, names: readonly string[]): Json {
  return Object.fromEntries(names.filter(name => owner[name] !== undefined).map(name => [name, owner[name]]))
}
