import type { Capability, RequestTraits } from '#core/traits.ts'

/** What a format reads of a request for those who choose an upstream. */
export interface FormatTraits {
  readonly needs: ReadonlySet<Capability>
  /** What a caller named for the provider's cache. */
  readonly cacheKey?: string | undefined
  /** What every request of the conversation begins with: instructions and the first that the user said. */
  readonly opening: readonly unknown[]
  readonly isSealed: boolean
}

/** Providers cache no prompt below some 1,024 tokens (OpenAI and Anthropic, prompt caching), four bytes each. */
const CACHEABLE_BYTES_MIN = 4_096

export function toTraits({ needs, cacheKey, opening, isSealed }: FormatTraits, bodyBytes: number): RequestTraits {
  return {
    needs: [...needs],
    conversation: () => cacheKey ?? textsOf(opening),
    isCacheable: cacheKey !== undefined || bodyBytes >= CACHEABLE_BYTES_MIN,
    isSealed,
  }
}

/** Enough of each text, and of all together, to tell conversations apart. */
const TEXT_CHARACTERS_MAX = 256
const CHARACTERS_MAX = 2_048

/** What the texts in a value begin with, however deep. The last first: the user's, who have instructions in common. */
function textsOf(value: unknown): string {
  let texts = ''
  const collect = (inner: unknown): void => {
    if (texts.length >= CHARACTERS_MAX) return
    if (typeof inner === 'string') texts += `${inner.length} ${inner.slice(0, TEXT_CHARACTERS_MAX)}\n`
    else if (Array.isArray(inner)) inner.toReversed().forEach(collect)
    else if (typeof inner === 'object' && inner !== null) Object.values(inner).forEach(collect)
  }
  collect(value)
  return texts
}

/** A conversation up to and with the first message that `isUser` knows. */
export function beginning<T>(messages: readonly T[], isUser: (message: T) => boolean): readonly T[] {
  const first = messages.findIndex(isUser)
  return messages.slice(0, first + 1)
}

/** The given capabilities of which the condition holds. */
export function needsWhere(conditions: Readonly<Partial<Record<Capability, boolean>>>): ReadonlySet<Capability> {
  const held = Object.entries(conditions).filter(([, isNeeded]) => isNeeded)
  return new Set(held.map(([need]) => need as Capability))
}
