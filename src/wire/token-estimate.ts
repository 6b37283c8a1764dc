/**
 * Token counts for when nobody reports any: before a call, and after one that was cut. A tokenizer per model would be
 * exact for a few vendors and slow for all; what these numbers become is flagged `estimated` everywhere.
 */

/** English and code average four UTF-8 bytes a token in the tokenizers of all large vendors. */
const BYTES_PER_TOKEN = 4

/** Role, separators and start marker of one message (OpenAI's published counting recipe adds 3 to 4). */
export const TOKENS_PER_MESSAGE = 4

/** One image at default detail; vendors range from 85 to about 1,600. */
export const TOKENS_PER_IMAGE = 1_000

/** Audio costs 10 to 32 tokens a second; mp3 at 128 kbit/s is 16 kB a second. */
const AUDIO_BYTES_PER_TOKEN = 800

/** @param bytes length of text in UTF-8 */
export function textTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

/** @param base64Length length of the audio's base64 text */
export function audioTokens(base64Length: number): number {
  return Math.ceil((base64Length * 3) / 4 / AUDIO_BYTES_PER_TOKEN)
}
