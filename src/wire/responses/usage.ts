import { tokenCount, type Usage } from '#core/usage.ts'
import { isObject } from '../json/parse.ts'

/**
 * The `usage` object of a response. `input_tokens` includes cached tokens and `output_tokens` includes reasoning tokens
 * (OpenAI API reference), which is what the neutral form means too. Audio tokens are in no reference, but hosts that
 * take audio report them as in a chat completion.
 */
export function decodeUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  const input = isObject(value.input_tokens_details) ? value.input_tokens_details : {}
  const output = isObject(value.output_tokens_details) ? value.output_tokens_details : {}
  const usage: Usage = {
    inputTokens: tokenCount(value.input_tokens),
    cacheReadTokens: tokenCount(input.cached_tokens),
    cacheWriteTokens: tokenCount(input.cache_write_tokens),
    audioInputTokens: tokenCount(input.audio_tokens),
    outputTokens: tokenCount(value.output_tokens),
    reasoningTokens: tokenCount(output.reasoning_tokens),
    audioOutputTokens: tokenCount(output.audio_tokens),
    totalTokens: tokenCount(value.total_tokens),
  }
  return usage.inputTokens === undefined && usage.outputTokens === undefined ? undefined : usage
}

/**
 * The totals, `cached_tokens` and `reasoning_tokens` always stand, as 0 when nobody told: the format requires them and
 * clients read them without asking. Cache writes are one number here, whatever their lifetime.
 */
export function encodeUsage(usage: Usage): Record<string, unknown> {
  const inputTokens = usage.inputTokens ?? 0
  const outputTokens = usage.outputTokens ?? 0
  const cacheWriteTokens = usage.cacheWriteTokens ?? sumOfKnown(usage.cacheWrite5mTokens, usage.cacheWrite1hTokens)
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: usage.cacheReadTokens ?? 0,
      ...(cacheWriteTokens !== undefined && { cache_write_tokens: cacheWriteTokens }),
      ...(usage.audioInputTokens !== undefined && { audio_tokens: usage.audioInputTokens }),
    },
    output_tokens: outputTokens,
    output_tokens_details: {
      reasoning_tokens: usage.reasoningTokens ?? 0,
      ...(usage.audioOutputTokens !== undefined && { audio_tokens: usage.audioOutputTokens }),
    },
    total_tokens: usage.totalTokens ?? inputTokens + outputTokens,
  }
}

function sumOfKnown(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0)
}
