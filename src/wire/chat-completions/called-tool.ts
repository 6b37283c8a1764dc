import { isObject } from '../json/parse.ts'

type Json = Readonly<Record<string, unknown>>

export interface CalledTool {
  readonly kind: 'function' | 'custom'
  readonly name: unknown
  /** Arguments or free text, whole or a fragment. */
  readonly written: unknown
}

/** What a tool call of an answer calls. A host that writes out both kinds leaves one of them empty: the type tells. */
export function calledTool(call: Json): CalledTool {
  if (isObject(call.custom) && (call.type === 'custom' || !isObject(call.function))) {
    return { kind: 'custom', name: call.custom.name, written: call.custom.input }
  }
  const called = isObject(call.function) ? call.function : {}
  return { kind: 'function', name: called.name, written: called.arguments }
}
