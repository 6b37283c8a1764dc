/**
 * What a failed attempt says of the way that was tried.
 *
 * `down`: it could not be reached, failed, or sent nonsense. `slow`: nothing came in time. `busy`: too much for the
 * upstream. `limited`: too much for our account there. `refused`: our account is not let in. `forbidden`: it is not let
 * do this, which may be about the request.
 */
export type Symptom = 'down' | 'slow' | 'busy' | 'limited' | 'refused' | 'forbidden'

/** What is made of a symptom. */
interface Effect {
  /** Counts against the channel's model. */
  readonly breaks?: true
  /** More came at a time than it takes. */
  readonly overloads?: true
  /** Which part is left alone for as long as the upstream asked. */
  readonly rests?: 'pair' | 'lane'
  /** Our account is at fault: at once, or when it happens again and again. */
  readonly disables?: 'at-once' | 'when-repeated'
}

export const EFFECTS: Readonly<Record<Symptom, Effect>> = Object.freeze({
  down: { breaks: true, rests: 'pair' },
  slow: { breaks: true, overloads: true },
  busy: { breaks: true, overloads: true, rests: 'pair' },
  limited: { overloads: true, rests: 'lane' },
  refused: { disables: 'at-once' },
  forbidden: { disables: 'when-repeated' },
})

/** Whether another account at the same upstream may fare better. */
export function concernsAccount(symptom: Symptom): boolean {
  const { rests, disables } = EFFECTS[symptom]
  return rests === 'lane' || disables !== undefined
}

/** Whether the upstream does not let our account in, or not do this. */
export function isRefusal(symptom: Symptom | undefined): boolean {
  return symptom !== undefined && EFFECTS[symptom].disables !== undefined
}
