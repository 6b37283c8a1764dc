import type { ToolCallPart } from '#core/call.ts'
import { isObject } from '../json/parse.ts'

/**
 * A tool's arguments as the object that this format wants. No arguments are an empty one; what is no JSON object (free
 * text of a custom tool, JSON that the model broke off) is wrapped into one, so that nothing of it is lost.
 */
export function toolInput(call: Pick<ToolCallPart, 'arguments' | 'kind'>): Record<string, unknown> {
  const written = call.arguments
  if (call.kind === 'custom') return { input: written }
  if (written.trim() === '') return {}
  let value: unknown
  try {
    value = JSON.parse(written)
  } catch {
    return { input: written }
  }
  return isObject(value) ? value : { input: value }
}
