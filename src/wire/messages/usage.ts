import { tokenCount, type Usage } from '#core/usage.ts'
import { isObject } from '../json/parse.ts'

type Json = Readonly<Record<string, unknown>>

/** What {@link decodeUsage} and the service tier of an answer say; everything else in `usage` is this format's own. */
const KNOWN_FIELDS = new Set([
  'input_tokens',
  'output_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'cache_creation',
  'output_tokens_details',
  'service_tier',
])

/**
 * The `usage` object of a message. Its `input_tokens` EXCLUDE what was read from the cache or written to it (Anthropic
 * API reference, prompt caching), while the neutral form's total includes both.
 */
export function decodeUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  const writes = isObject(value.cache_creation) ? value.cache_creation : {}
  const output = isObject(value.output_tokens_details) ? value.output_tokens_details : {}
  const uncached = tokenCount(value.input_tokens)
  const cacheReadTokens = tokenCount(value.cache_read_input_tokens)
  const cacheWrite5mTokens = tokenCount(writes.ephemeral_5m_input_tokens)
  const cacheWrite1hTokens = tokenCount(writes.ephemeral_1h_input_tokens)
  const cacheWriteTokens = tokenCount(value.cache_creation_input_tokens) ?? sum(cacheWrite5mTokens, cacheWrite1hTokens)
  const usage: Usage = {
    inputTokens: uncached === undefined ? undefined : sum(uncached, cacheReadTokens, cacheWriteTokens),
    cacheReadTokens,
    cacheWriteTokens,
    cacheWrite5mTokens,
    cacheWrite1hTokens,
    outputTokens: tokenCount(value.output_tokens),
    reasoningTokens: tokenCount(output.thinking_tokens),
  }
  return usage.inputTokens === undefined && usage.outputTokens === undefined ? undefined : usage
}

/** The total of what is known; `undefined` when nothing is, or when it is no count any more. */
function sum(...counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter(count => count !== undefined)
  return known.length === 0 ? undefined : tokenCount(known.reduce((total, count) => total + count, 0))
}

/** Both totals stand even when nobody knows them: clients of this format read and add them without asking. */
export function encodeUsage(usage: Usage): Record<string, unknown> {
  const { cacheReadTokens, cacheWriteTokens, cacheWrite5mTokens, cacheWrite1hTokens, reasoningTokens } = usage
  const cached = (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0)
  const hasLifetimes = cacheWrite5mTokens !== undefined || cacheWrite1hTokens !== undefined
  return {
    input_tokens: Math.max(0, (usage.inputTokens ?? 0) - cached),
    ...(cacheWriteTokens !== undefined && { cache_creation_input_tokens: cacheWriteTokens }),
    ...(cacheReadTokens !== undefined && { cache_read_input_tokens: cacheReadTokens }),
    ...(hasLifetimes && {
      cache_creation: {
        ephemeral_5m_input_tokens: cacheWrite5mTokens ?? 0,
        ephemeral_1h_input_tokens: cacheWrite1hTokens ?? 0,
      },
    }),
    output_tokens: usage.outputTokens ?? 0,
    ...(reasoningTokens !== undefined && { output_tokens_details: { thinking_tokens: reasoningTokens } }),
  }
}

/**
 * What a stream has said of its usage so far. Its end may repeat counts of its start, as they were, grown or as zero:
 * counts are cumulative, so the larger one is the later one, and nothing is ever added up.
 */
export function mergeUsage(before: Json, after: unknown): Json {
  if (!isObject(after)) return before
  const merged: Record<string, unknown> = { ...before }
  for (const [field, value] of Object.entries(after)) {
    const known = merged[field]
    if (isObject(known) && isObject(value)) merged[field] = mergeUsage(known, value)
    else if (typeof known === 'number') merged[field] = Math.max(known, tokenCount(value) ?? known)
    else if (value !== null) merged[field] = value
  }
  return merged
}

/** Counts that only this format has, such as those of its server tools. */
export function extraUsage(value: unknown): Json | undefined {
  if (!isObject(value)) return undefined
  const extra = Object.entries(value).filter(([field, count]) => !KNOWN_FIELDS.has(field) && count !== null)
  return extra.length === 0 ? undefined : Object.fromEntries(extra)
}
