import { isObject } from '../json/parse.ts'

type Json = Readonly<Record<string, unknown>>

/** What a model said in one go: words, thoughts, or something that only this format knows. */
export type Said =
  | { readonly type: 'text' | 'reasoning' | 'refusal'; readonly text: string }
  | { readonly type: 'opaque'; readonly value: Json }

/**
 * The content of a message or of a delta. It is a text, or a list of parts where a host thinks among its words
 * (Mistral API reference, reasoning).
 */
export function decodeContent(content: unknown): Said[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) return []
  return content.filter(isObject).map(decodePart)
}

function decodePart(part: Json): Said {
  if (part.type === 'text' && typeof part.text === 'string') return { type: 'text', text: part.text }
  if (part.type === 'refusal' && typeof part.refusal === 'string') return { type: 'refusal', text: part.refusal }
  const thought = part.type === 'thinking' ? thoughtText(part.thinking) : undefined
  return thought === undefined ? { type: 'opaque', value: part } : { type: 'reasoning', text: thought }
}

/** A thought is a text, or a list of texts. */
export function thoughtText(thinking: unknown): string | undefined {
  if (typeof thinking === 'string') return thinking
  if (!Array.isArray(thinking)) return undefined
  return thinking.map(each => (isObject(each) && typeof each.text === 'string' ? each.text : '')).join('')
}

/** What a message or a delta says of the model's thoughts. A host that fills several of the fields repeats itself. */
export function decodeThought({ reasoning_content, reasoning, reasoning_details: details }: Json): string {
  for (const text of [reasoning_content, reasoning]) if (typeof text === 'string' && text !== '') return text
  if (!Array.isArray(details)) return ''
  const texts = details.filter(isObject).map(({ text, summary }) => text ?? summary)
  return texts.filter(text => typeof text === 'string').join('')
}
