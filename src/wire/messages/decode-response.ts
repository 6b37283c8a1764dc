import type { Part } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import type { Result } from '#core/result.ts'
import { isObject } from '../json/parse.ts'
import { decodeBlock, FORMAT } from './decode-block.ts'
import { decodeFault } from './fault.ts'
import { decodeFinish } from './finish-reason.ts'
import { decodeUsage, extraUsage } from './usage.ts'

const KNOWN_FIELDS = new Set(['id', 'type', 'role', 'model', 'content', 'stop_reason', 'stop_sequence', 'usage'])

type Json = Readonly<Record<string, unknown>>

/** upstream → neutral (see `WireFormat`). */
export function decodeResponse(body: unknown): Result {
  if (isObject(body) && isObject(body.error)) throw decodeFault(200, body)
  if (!isObject(body) || !Array.isArray(body.content)) {
    throw new Fault('upstream_error', 'The model provider sent an answer that is no message.', { cause: body })
  }
  const id = typeof body.id === 'string' ? body.id : ''
  const parts = body.content.filter(isObject).map((block, index) => decodeAnswerBlock(block, id, index))
  const serviceTier = decodeServiceTier(body.usage)
  return {
    id,
    model: typeof body.model === 'string' ? body.model : '',
    // This format does not say when.
    createdAt: 0,
    choices: [{ index: 0, parts, finish: decodeFinish(body) }],
    usage: decodeUsage(body.usage),
    ...(serviceTier !== undefined && { serviceTier }),
    extensions: decodeExtensions(body, KNOWN_FIELDS, body.usage),
  }
}

function decodeAnswerBlock(block: Json, id: string, index: number): Part {
  const part = decodeBlock(block, undefined)
  return part.type === 'tool-call' && part.id === '' ? { ...part, id: missingToolId(id, index) } : part
}

/** Different in every answer, since a conversation must not have two calls of one id. */
export function missingToolId(answerId: string, index: number): string {
  return `toolu_${answerId.replaceAll(/[^A-Za-z0-9_-]/g, '_')}_${index}`
}

/** The neutral form has the word of the other formats for what this one calls `standard`. */
function decodeServiceTier(usage: unknown): string | undefined {
  const tier = isObject(usage) ? usage.service_tier : undefined
  if (typeof tier !== 'string') return undefined
  return tier === 'standard' ? 'default' : tier
}

/** What only this format says in an answer or at a stream's end, counts of its own included. */
export function decodeExtensions(owner: Json, known: ReadonlySet<string>, usage: unknown): Result['extensions'] {
  const extra = Object.entries(owner).filter(([field, value]) => !known.has(field) && value !== null)
  const counts = extraUsage(usage)
  if (extra.length === 0 && !counts) return {}
  return { [FORMAT]: { ...Object.fromEntries(extra), ...(counts && { usage: counts }) } }
}
