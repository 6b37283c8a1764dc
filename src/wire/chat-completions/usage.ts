import { tokenCount, type Usage } from '#core/usage.ts'
import { isObject } from '../json/parse.ts'

type Json = Readonly<Record<string, unknown>>

/** Where a count stands: at the top, or in a detail object. */
type Place = readonly [field: string] | readonly [details: string, field: string]

/** Where hosts put each count, the format's own place first (API references of OpenAI and of the hosts named). */
const PLACES = Object.freeze({
  inputTokens: [['prompt_tokens']],
  cacheReadTokens: [
    ['prompt_tokens_details', 'cached_tokens'],
    // Mistral has had three.
    ['prompt_token_details', 'cached_tokens'],
    ['num_cached_tokens'],
    // DeepSeek
    ['prompt_cache_hit_tokens'],
    // Moonshot
    ['cached_tokens'],
  ],
  cacheWriteTokens: [
    ['prompt_tokens_details', 'cache_write_tokens'],
    // Alibaba
    ['prompt_tokens_details', 'cache_creation_input_tokens'],
  ],
  audioInputTokens: [['prompt_tokens_details', 'audio_tokens']],
  outputTokens: [['completion_tokens']],
  reasoningTokens: [
    ['completion_tokens_details', 'reasoning_tokens'],
    // Perplexity, and DeepSeek's models on Azure
    ['reasoning_tokens'],
  ],
  audioOutputTokens: [['completion_tokens_details', 'audio_tokens']],
  totalTokens: [['total_tokens']],
} satisfies { readonly [T in keyof Usage]: readonly Place[] })

/**
 * The `usage` object of a completion or of a stream's last chunk. `prompt_tokens` includes cached tokens and
 * `completion_tokens` includes reasoning tokens (OpenAI API reference), which is what the neutral form means too; hosts
 * that mean something else are recognized by their sums.
 */
export function decodeUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  const usage: Usage = {
    inputTokens: count(value, PLACES.inputTokens),
    cacheReadTokens: count(value, PLACES.cacheReadTokens),
    cacheWriteTokens: count(value, PLACES.cacheWriteTokens),
    audioInputTokens: count(value, PLACES.audioInputTokens),
    outputTokens: count(value, PLACES.outputTokens),
    reasoningTokens: count(value, PLACES.reasoningTokens),
    audioOutputTokens: count(value, PLACES.audioOutputTokens),
    totalTokens: count(value, PLACES.totalTokens),
  }
  return usage.inputTokens === undefined && usage.outputTokens === undefined ? undefined : withOmitted(usage)
}

/** The usage of a chunk; Groq also gives it in a place of its own, and to those who did not ask only there. */
export function decodeChunkUsage({ usage, x_groq: groq }: Json): Usage | undefined {
  return decodeUsage(usage) ?? (isObject(groq) ? decodeUsage(groq.usage) : undefined)
}

function count(usage: Json, places: readonly Place[]): number | undefined {
  for (const [outer, inner] of places) {
    const details = usage[outer]
    const known = tokenCount(inner === undefined ? details : isObject(details) ? details[inner] : undefined)
    if (known !== undefined) return known
  }
  return undefined
}

/**
 * Both sides with what the host counts beside them instead of in them. The total tells, when it is more than their sum,
 * or a part that is larger than its whole.
 */
function withOmitted(usage: Usage): Usage {
  const { inputTokens, outputTokens, totalTokens, cacheReadTokens, audioInputTokens, reasoningTokens } = usage
  if (inputTokens === undefined || outputTokens === undefined) return usage
  const omitted = totalTokens === undefined ? 0 : totalTokens - inputTokens - outputTokens
  // Mistral counts sound apart.
  if (omitted > 0 && omitted === audioInputTokens) return { ...usage, inputTokens: inputTokens + omitted }
  // xAI counts thoughts apart. So does Google, which does not even say how many they are.
  if (omitted > 0 && omitted === (reasoningTokens ?? omitted)) {
    return { ...usage, outputTokens: outputTokens + omitted, reasoningTokens: omitted }
  }
  // xAI's models on Azure count apart what was cached, and leave it out of the total as well.
  if (cacheReadTokens !== undefined && cacheReadTokens > inputTokens) {
    return { ...usage, inputTokens: inputTokens + cacheReadTokens }
  }
  return usage
}

/** Detail objects appear only when something in them is known; the three totals always. */
export function encodeUsage(usage: Usage): Record<string, unknown> {
  const inputTokens = usage.inputTokens ?? 0
  const outputTokens = usage.outputTokens ?? 0
  const promptDetails = known({
    cached_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    audio_tokens: usage.audioInputTokens,
  })
  const completionDetails = known({
    reasoning_tokens: usage.reasoningTokens,
    audio_tokens: usage.audioOutputTokens,
  })
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: usage.totalTokens ?? inputTokens + outputTokens,
    ...(promptDetails && { prompt_tokens_details: promptDetails }),
    ...(completionDetails && { completion_tokens_details: completionDetails }),
  }
}

function known(fields: Record<string, number | undefined>): Record<string, number> | undefined {
  const entries = Object.entries(fields).filter((entry): entry is [string, number] => entry[1] !== undefined)
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}
