import { tokenCount, type Usage } from '#core/usage.ts'
import { isObject } from '../json/parse.ts'

/**
 * The `usage` object of a completion or of a stream's last chunk. `prompt_tokens` includes cached tokens and
 * `completion_tokens` includes reasoning tokens (OpenAI API reference), which is what the neutral form means too.
 */
export function decodeUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  const input = isObject(value.prompt_tokens_details) ? value.prompt_tokens_details : {}
  const output = isObject(value.completion_tokens_details) ? value.completion_tokens_details : {}
  const usage: Usage = {
    inputTokens: tokenCount(value.prompt_tokens),
    cacheReadTokens: tokenCount(input.cached_tokens),
    cacheWriteTokens: tokenCount(input.cache_write_tokens),
    audioInputTokens: tokenCount(input.audio_tokens),
    outputTokens: tokenCount(value.completion_tokens),
    reasoningTokens: tokenCount(output.reasoning_tokens),
    audioOutputTokens: tokenCount(output.audio_tokens),
    totalTokens: tokenCount(value.total_tokens),
  }
  return usage.inputTokens === undefined && usage.outputTokens === undefined ? undefined : usage
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
