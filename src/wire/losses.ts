import type { Call, Part } from '#core/call.ts'

/** Takes the name of something that the format cannot say. */
export type Warn = (thing: string) => void

/** Gathers what `format` cannot say of one call, each thing once and in one form of sentence. */
export function gatherLosses(format: string): { readonly warn: Warn; warnings(): string[] } {
  const things = new Set<string>()
  return {
    warn: thing => things.add(thing),
    warnings: () => [...things].map(thing => `${thing} has no equivalent in ${format}`),
  }
}

/** Fields of the neutral form that some format lacks, and the names under which clients most likely know them. */
const NAMES = Object.freeze({
  'call.topK': 'top_k',
  'call.presencePenalty': 'presence_penalty',
  'call.frequencyPenalty': 'frequency_penalty',
  'call.seed': 'seed',
  'call.stop': 'stop',
  'call.choices': 'n',
  'call.topLogprobs': 'logprobs',
  'call.verbosity': 'verbosity',
  'call.modalities': 'modalities',
  'call.audioOutput': 'audio',
  'call.translation': 'translation_options',
  'call.cacheKey': 'prompt_cache_key',
  'call.endUser': 'user',
  'call.metadata': 'metadata',
  'call.serviceTier': 'service_tier',
  'call.parallelToolCalls': 'parallel_tool_calls',
  'thinking.budgetTokens': 'a reasoning budget',
  'thinking.isShown': 'showing reasoning',
  'output.description': "an output schema's description",
  'output.strict': 'strict',
  'tool.strict': 'strict',
  'tool.cache': 'cache_control',
  'message.name': 'name',
  'text.citations': 'citations',
  'text.cache': 'cache_control',
  'text.signature': "a text's signature",
  'image.detail': 'detail',
  'image.cache': 'cache_control',
  'document.filename': 'filename',
  'document.cache': 'cache_control',
  'reasoning.signature': "a thought's signature",
  'reasoning.encrypted': 'encrypted reasoning',
  'tool-call.signature': "a tool call's signature",
  'tool-call.cache': 'cache_control',
  'tool-result.isError': 'the error flag of a tool result',
  'tool-result.cache': 'cache_control',
})

/** `<owner>.<field>`; `thinking` is the call's `reasoning`, other owners are called as in `core/call.ts`. */
type LossyField = keyof typeof NAMES

/** Every cache breakpoint, for formats that have none. */
export const CACHE_FIELDS: readonly LossyField[] = (Object.keys(NAMES) as LossyField[]).filter(field =>
  field.endsWith('.cache'),
)

/** Values that ask for nothing beyond what happens anyway. */
const MEANS_NOTHING: Readonly<Partial<Record<LossyField, (value: never) => boolean>>> = Object.freeze({
  'call.stop': (stop: readonly string[]) => stop.length === 0,
  'call.choices': (choices: number) => choices === 1,
  'call.modalities': (modalities: readonly string[]) => modalities.every(each => each === 'text'),
  'call.parallelToolCalls': (isAllowed: boolean) => isAllowed,
  'thinking.isShown': (isShown: boolean) => !isShown,
  'output.strict': (isStrict: boolean) => !isStrict,
  'tool.strict': (isStrict: boolean) => !isStrict,
  'image.detail': (detail: string) => detail === 'auto',
  'tool-result.isError': (isError: boolean) => !isError,
})

/** What one format lacks, by owner. */
export type Lacking = ReadonlyMap<string, readonly (readonly [field: LossyField, name: string])[]>

export function lacking(...fields: readonly LossyField[]): Lacking {
  return Map.groupBy(
    fields.map(field => [field, field.slice(field.indexOf('.') + 1)] as const),
    ([field]) => field.slice(0, field.indexOf('.')),
  )
}

/**
 * Names what is in the call and not in the format: those fields of `lost` that are used, and whatever rides in the
 * call that only another format knows.
 */
export function warnOfLosses(call: Call, format: string, lost: Lacking, warn: Warn): void {
  for (const [kind, owner] of ownersOf(call)) {
    for (const [field, name] of lost.get(kind) ?? []) if (isUsed(field, owner[name])) warn(NAMES[field])
    for (const [other, fields] of Object.entries((owner.extensions as Call['extensions'] | undefined) ?? {})) {
      if (other !== format) for (const field of Object.keys(fields)) warn(field)
    }
  }
}

type Owner = Readonly<Record<string, unknown>>

function isUsed(field: LossyField, value: unknown): boolean {
  return value !== undefined && !MEANS_NOTHING[field]?.(value as never)
}

/** The call and everything in it that has fields. */
function ownersOf(call: Call): (readonly [kind: string, owner: Owner])[] {
  const owned = <T extends object>(kind: string, owner: T) => [kind, owner as Owner] as const
  return [
    owned('call', call),
    ...(call.reasoning ? [owned('thinking', call.reasoning)] : []),
    ...(call.output ? [owned('output', call.output)] : []),
    ...(call.tools ?? []).map(tool => owned('tool', tool)),
    ...call.messages.map(message => owned('message', message)),
    ...call.messages.flatMap(message => withInner(message.parts)).map(part => owned(part.type, part)),
  ]
}

/** Parts and what stands inside the results among them. */
function withInner(parts: readonly Part[]): Part[] {
  return parts.flatMap(part => (part.type === 'tool-result' ? [part, ...withInner(part.parts)] : [part]))
}

/** `an image part` */
export function aPart(part: Part): string {
  if (part.type === 'opaque') return `a part of ${part.format}`
  return `${/^[aeiou]/.test(part.type) ? 'an' : 'a'} ${part.type} part`
}
