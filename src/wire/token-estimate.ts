/**
 * Token counts for when nobody reports any: before a call, and after one that was cut. A tokenizer per model would be
 * exact for a few vendors and slow for all; what these numbers become is flagged `estimated` everywhere.
 */

/** What the parts of a client's request are taken for, in tokens. */
export interface TokenMeasure {
  /** Once a request that has tools: vendors explain to the model how to call them. */
  readonly tools: number
  /** Role, separators and start marker of one message. */
  readonly message: number
  readonly image: number
  /** @param bytes length of text in UTF-8 */
  text(bytes: number): number
  /** @param base64Length length of the audio's base64 text */
  audio(base64Length: number): number
  /** @param base64Length length of the base64 text of a document or a video */
  document(base64Length: number): number
  /** A document, sound or video that the request only names. */
  readonly elsewhere: number
}

/** English and code average four UTF-8 bytes a token in the tokenizers of all large vendors. */
const BYTES_PER_TOKEN = 4

/** What most requests come to: for reports where no provider counted, and for answers to the question. */
export const TYPICAL: TokenMeasure = Object.freeze({
  tools: 0,
  /** OpenAI's published counting recipe adds 3 to 4. */
  message: 4,
  /** At default detail; vendors range from 85 to about 1,600. */
  image: 1_000,
  text: textTokens,
  /** 10 to 32 tokens a second; mp3 at 128 kbit/s is 16 kB a second. */
  audio: (base64Length: number) => Math.ceil(decodedLength(base64Length) / 800),
  document: () => 1_000,
  elsewhere: 1_000,
})

/**
 * What requests come to at most, for what is set aside before they are sent. Tokenizers of all large vendors fall back
 * to bytes, so that no text has more tokens than bytes; JSON and tables have one for 1.5 to 2.5 (measured with
 * o200k_base), which is why an average would be overspent by ordinary agents.
 */
export const CAUTIOUS: TokenMeasure = Object.freeze({
  /** Anthropic documents 313 to 806 for its models. */
  tools: 1_000,
  message: 8,
  /** Of the vendors' largest, at full detail; small models that count an image many times over cost little a token. */
  image: 5_000,
  text: Math.ceil,
  /** 32 tokens a second of speech at 16 kbit/s. */
  audio: (base64Length: number) => Math.ceil(decodedLength(base64Length) / 60),
  /** A page is read as an image and as text, 3,000 tokens and more; a page of dense text packs into some 10 kB. */
  document: (base64Length: number) => Math.max(5_000, Math.ceil(decodedLength(base64Length) / 3)),
  /** As much as any model takes; the model's own context is less where it is known. */
  elsewhere: 1_000_000,
})

/** @param bytes length of text in UTF-8 */
export function textTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

function decodedLength(base64Length: number): number {
  return (base64Length * 3) / 4
}
