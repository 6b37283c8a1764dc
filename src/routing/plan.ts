import type { Model, Offer } from '#catalog/catalog.ts'

/** Attempts beyond this help nobody: the client has waited long enough. */
const ATTEMPTS_MAX = 3

/**
 * The offers to try for one request, in order: as the configuration lists them.
 *
 * @param canServe whether an offer's provider has the endpoint that the request needs
 */
export function planAttempts(model: Model, canServe: (offer: Offer) => boolean): readonly Offer[] {
  return model.offers.filter(canServe).slice(0, ATTEMPTS_MAX)
}
