import { tokenCount, type Usage } from '#core/usage.ts'
import { isObject } from '../json/parse.ts'

/**
 * `usageMetadata` of an answer or of a chunk, where it is cumulative. `promptTokenCount` includes cached tokens but not
 * what tools put into the prompt, and `candidatesTokenCount` leaves out thoughts (Gemini API reference); the neutral
 * totals include all of these.
 */
export function decodeUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  const prompt = tokenCount(value.promptTokenCount)
  const inputTokens = prompt === undefined ? undefined : prompt + (tokenCount(value.toolUsePromptTokenCount) ?? 0)
  const totalTokens = tokenCount(value.totalTokenCount)
  const usage: Usage = {
    inputTokens,
    cacheReadTokens: tokenCount(value.cachedContentTokenCount),
    audioInputTokens: audioTokens(value.promptTokensDetails),
    outputTokens: outputTokens(value, inputTokens, totalTokens),
    reasoningTokens: tokenCount(value.thoughtsTokenCount),
    audioOutputTokens: audioTokens(value.candidatesTokensDetails),
    totalTokens,
  }
  return usage.inputTokens === undefined && usage.outputTokens === undefined ? undefined : usage
}

/**
 * `usageMetadata` of a chunk. Before the answer ends, a total that leaves nothing for the output means that nobody has
 * counted it yet: taken for zero, a client that leaves early would have had its words for nothing.
 *
 * @param isEnd the chunk says why the answer ended
 */
export function decodeChunkUsage(value: unknown, { isEnd }: { isEnd: boolean }): Usage | undefined {
  const usage = decodeUsage(value)
  return usage?.outputTokens === 0 && !isEnd ? { ...usage, outputTokens: undefined } : usage
}

/** Google leaves out counts of zero, so a side that is missing is what the total leaves for it. */
function outputTokens(
  value: Readonly<Record<string, unknown>>,
  inputTokens: number | undefined,
  totalTokens: number | undefined,
): number | undefined {
  const candidates = tokenCount(value.candidatesTokenCount)
  const thoughts = tokenCount(value.thoughtsTokenCount)
  if (candidates !== undefined || thoughts !== undefined) return (candidates ?? 0) + (thoughts ?? 0)
  if (inputTokens === undefined || totalTokens === undefined) return undefined
  return Math.max(0, totalTokens - inputTokens)
}

function audioTokens(details: unknown): number | undefined {
  if (!Array.isArray(details)) return undefined
  const audio = details.find(detail => isObject(detail) && detail.modality === 'AUDIO')
  return isObject(audio) ? tokenCount(audio.tokenCount) : undefined
}

/** The three totals stand always, the rest where it is known. The format has no word for cache writes. */
export function encodeUsage(usage: Usage): Record<string, unknown> {
  const { inputTokens = 0, outputTokens = 0, reasoningTokens, cacheReadTokens } = usage
  const { audioInputTokens, audioOutputTokens } = usage
  return {
    promptTokenCount: inputTokens,
    candidatesTokenCount: Math.max(0, outputTokens - (reasoningTokens ?? 0)),
    totalTokenCount: usage.totalTokens ?? inputTokens + outputTokens,
    ...(cacheReadTokens !== undefined && { cachedContentTokenCount: cacheReadTokens }),
    ...(reasoningTokens !== undefined && { thoughtsTokenCount: reasoningTokens }),
    ...(audioInputTokens !== undefined && { promptTokensDetails: audioDetails(audioInputTokens) }),
    ...(audioOutputTokens !== undefined && { candidatesTokensDetails: audioDetails(audioOutputTokens) }),
  }
}

function audioDetails(tokenCount: number): unknown {
  return [{ modality: 'AUDIO', tokenCount }]
}
