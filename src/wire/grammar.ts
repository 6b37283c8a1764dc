import type { Grammar } from '#core/call.ts'
import { isObject } from './json/parse.ts'

/** What the text of a custom tool must keep to, as both of OpenAI's formats write it; `undefined` when it is none. */
export function decodeGrammar(wire: unknown): Grammar | undefined {
  if (!isObject(wire)) return undefined
  const { syntax, definition } = wire
  return typeof syntax === 'string' && typeof definition === 'string' ? { syntax, definition } : undefined
}
