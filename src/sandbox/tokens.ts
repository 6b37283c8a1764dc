import type { decode, encode } from 'gpt-tokenizer/encoding/o200k_base'

/** The tokenizer is 75 MB in memory, so it is loaded when the sandbox starts and not with the gateway. */
let loading: Promise<{ encode: typeof encode; decode: typeof decode }> | undefined

function tokenizer(): NonNullable<typeof loading> {
  loading ??= import('gpt-tokenizer/encoding/o200k_base')
  return loading
}

export async function countTokens(text: string): Promise<number> {
  const { encode } = await tokenizer()
  return encode(text).length
}

/** The start of `text` that fits in `tokensMax`, and its length in tokens. */
export async function truncate(
  text: string,
  tokensMax: number,
): Promise<{ text: string; tokens: number; isCut: boolean }> {
  const { encode, decode } = await tokenizer()
  const tokens = encode(text)
  if (tokens.length <= tokensMax) return { text, tokens: tokens.length, isCut: false }
  return { text: decode(tokens.slice(0, tokensMax)), tokens: tokensMax, isCut: true }
}
