import type { Usage } from '#core/usage.ts'

/**
 * An estimate with what the request cannot use: lifetimes of an hour and sound cost a multiple of plain tokens, and
 * would be set aside for every request of a model that can do them. A word that stands in the request without meaning
 * it makes a hold larger, never smaller.
 */
export function withBounds(estimate: Usage, request: Buffer): Usage {
  const { inputTokens } = estimate
  return {
    ...estimate,
    // A provider may write to its cache unasked, but not for long.
    ...(request.includes('cache_control') && { cacheWriteTokens: inputTokens }),
    cacheWrite1hTokens: request.includes('"1h"') ? inputTokens : 0,
    ...(!SOUND.some(word => request.includes(word)) && { audioInputTokens: 0, audioOutputTokens: 0 }),
  }
}

/** As formats spell kinds and modalities; films have sound, also those that only a link leads to. */
const SOUND = ['audio', 'AUDIO', 'video', 'VIDEO', 'youtu']
