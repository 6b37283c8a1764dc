import type { Credential, Model, Offer } from '#catalog/catalog.ts'
import type { RequestTraits } from '#core/traits.ts'

/**
 * Requests of one conversation go to the same key of the same channel, so that the provider's prompt cache is found
 * again and sealed thoughts come back to the account that sealed them. Nothing is remembered for it: the conversation
 * is hashed together with each candidate (rendezvous hashing), all nodes come to the same order, and when the first of
 * it is out only its own conversations move, to the second.
 */
export function isSticky(model: Model, { needs, isCacheable, isSealed }: RequestTraits): boolean {
  // What thinks seals its thoughts from the first answer on, long before there is anything to cache.
  return isCacheable || isSealed || needs.includes('reasoning') || model.capabilities.includes('reasoning')
}

/** @param scope whose conversation it is: two tenants that say the same share nothing */
export function drawFor(scope: string, model: Model, traits: RequestTraits): (seed: number) => number {
  const own = hash32(`${scope}\n${model.id}\n${traits.conversation()}`)
  return seed => mixed(own ^ seed) / 2 ** 32
}

/** A channel's key as it takes part in draws. */
export function seedOf({ channel, upstreamModel }: Offer, { key }: Credential): number {
  return hash32(`${channel.id}\n${upstreamModel}\n${key ?? ''}`)
}

/** FNV-1a over UTF-16 units: who finds two texts with the same hash has sent two conversations to one channel. */
function hash32(text: string): number {
  let bits = 0x811c9dc5
  for (let i = 0; i < text.length; i++) bits = Math.imul(bits ^ text.charCodeAt(i), 0x01000193)
  return mixed(bits)
}

/** The finalizer of MurmurHash3: every bit of the input moves half of the output's. */
function mixed(value: number): number {
  let bits = value
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
