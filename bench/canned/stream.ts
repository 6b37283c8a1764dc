/** A provider's stream, made once: every piece is a server-sent event with the framing of a chunked body around it. */
export interface CannedStream {
  readonly opening: readonly Buffer[]
  /** An event for each small piece of text, over and over. */
  readonly words: readonly Buffer[]
  /** What follows the last word, the end of the body included. */
  readonly closing: readonly Buffer[]
}

export interface StreamOrder {
  /** How many pieces of text the stream has: some formats repeat all of it at the end. */
  readonly words: number
  /** The client asked for usage, where the format lets it. */
  readonly hasUsage: boolean
}

/** A stream as a provider words it. */
export type StreamScript = (order: StreamOrder) => CannedStream

/** The same in every format, so that formats can be compared. */
export const WORDS: readonly string[] =
  ' The quick brown fox jumps over a lazy dog while seven wizards quietly box'.match(/ \w+/g) ?? []

export const INPUT_TOKENS = 24
export const OUTPUT_TOKENS = 61

const END_OF_BODY = Buffer.from('0\r\n\r\n')

/** All that was said. */
export function textOf(words: number): string {
  return Array.from({ length: words }, (_, index) => WORDS[index % WORDS.length]).join('')
}

/** One piece of a chunked body. */
export function frame(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)
}

/** The last piece and the end of the body come in one write. */
export function withEndOfBody(frames: readonly Buffer[]): readonly Buffer[] {
  return [...frames.slice(0, -1), Buffer.concat([frames.at(-1) ?? Buffer.alloc(0), END_OF_BODY])]
}
