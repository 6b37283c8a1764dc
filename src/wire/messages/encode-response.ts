import type { Part, UrlCitation } from '#core/call.ts'
import type { Result } from '#core/result.ts'
import type { AnswerContext } from '../format.ts'
import { FORMAT } from './decode-block.ts'
import { encodeFinish } from './finish-reason.ts'
import { toolInput } from './tool-input.ts'
import { encodeUsage } from './usage.ts'

type Json = Record<string, unknown>
type PartOf<T extends Part['type']> = Extract<Part, { type: T }>

/** neutral → client (see `WireFormat`). The format has one choice: clients of it cannot ask for more. */
export function encodeResponse(result: Result, context: AnswerContext): Json {
  const [choice] = result.choices
  const parts = choice?.parts ?? []
  const { usage: extraUsage, ...extra } = result.extensions[FORMAT] ?? {}
  const hasToolCalls = parts.some(part => part.type === 'tool-call')
  return {
    id: result.id,
    type: 'message',
    role: 'assistant',
    model: context.publicModel,
    content: parts.flatMap(encodePart),
    ...encodeFinish(choice?.finish ?? { reason: 'other', raw: undefined }, hasToolCalls),
    usage: {
      ...encodeUsage(result.usage ?? {}),
      ...(extraUsage as Json | undefined),
      ...(result.serviceTier !== undefined && { service_tier: encodeServiceTier(result.serviceTier) }),
    },
    ...extra,
  }
}

/** What other formats call `default` is `standard` here. */
function encodeServiceTier(tier: string): string {
  return tier === 'default' ? 'standard' : tier
}

function encodePart(part: Part): Json[] {
  return (PARTS[part.type] as (part: Part) => Json[])(part)
}

const PARTS: { readonly [T in Part['type']]: (part: PartOf<T>) => Json[] } = Object.freeze({
  text: part => {
    const { citations = part.citations?.map(encodeCitation), ...own } = part.extensions?.[FORMAT] ?? {}
    return [{ type: 'text', text: part.text, ...(citations !== undefined && { citations }), ...own }]
  },
  // A refusal is said in words here, and told by the stop reason.
  refusal: part => [{ type: 'text', text: part.text }],
  reasoning: part =>
    part.encrypted !== undefined && part.text === ''
      ? [{ type: 'redacted_thinking', data: part.encrypted }]
      : [{ type: 'thinking', thinking: part.text, signature: part.signature ?? '' }],
  'tool-call': part => [
    { type: 'tool_use', id: part.id, name: part.name, input: toolInput(part), ...part.extensions?.[FORMAT] },
  ],
  // Of sound the format can give only the words.
  audio: part => (part.transcript ? [{ type: 'text', text: part.transcript }] : []),
  opaque: part => (part.format === FORMAT ? [part.value as Json] : []),
  image: () => [],
  video: () => [],
  document: () => [],
  'tool-result': () => [],
})

/** A citation of a web page. The format seals its own; what others cite has no seal. */
export function encodeCitation({ url, title }: UrlCitation): Json {
  return { type: 'web_search_result_location', url, title: title ?? null, cited_text: '', encrypted_index: '' }
}
