import type { Credential, Offer } from '#catalog/catalog.ts'
import { seedOf } from './sticky.ts'

/** One way to have a request served: an offer, and the key with which its channel is asked. */
export interface Candidate {
  readonly offer: Offer
  readonly credential: Credential
  /** Brought by the caller: before all others, however delivery is asked for. */
  readonly isPrivate: boolean
  /** Offers with a weight share the first place, 0; the others follow as they are listed. */
  readonly place: number
  /** Its share among the candidates of its place. */
  readonly weight: number
  /** Stands for the channel's key in {@link drawFor}: the same on every node. */
  readonly seed: number
}

/** Every key of every offer. */
export function candidatesOf(offers: readonly Offer[], { isPrivate = false } = {}): readonly Candidate[] {
  return offers.flatMap((offer, index) => {
    const { credentials } = offer.channel
    const shares = credentials.reduce((sum, { weight }) => sum + weight, 0)
    return credentials.map(credential => ({
      offer,
      credential,
      isPrivate,
      place: offer.weight === undefined ? index + 1 : 0,
      weight: ((offer.weight ?? 1) * credential.weight) / shares,
      seed: seedOf(offer, credential),
    }))
  })
}
