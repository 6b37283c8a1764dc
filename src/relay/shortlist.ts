import type { Model } from '#catalog/catalog.ts'
import { Fault } from '#core/fault.ts'
import type { RequestTraits } from '#core/traits.ts'
import type { Candidate } from '#routing/candidate.ts'
import { capableOf, deliveringAs, missingFrom, roomyFor } from '#routing/eligible.ts'
import type { ClientCall } from './call.ts'

const UNLIMITED = Object.freeze({ contextLength: undefined, maxOutputTokens: undefined })

/**
 * Those of a model's candidates that could serve a call, however they are at the moment; none where nobody has the
 * endpoint for it.
 *
 * @param canServe whether a candidate's provider has the endpoint
 * @throws Fault `delivery_tier_unavailable`, or `invalid_request` naming what nobody can do
 */
export function shortlist(
  call: ClientCall,
  model: Model,
  candidates: readonly Candidate[],
  { canServe, traits }: { canServe: (candidate: Candidate) => boolean; traits: RequestTraits | undefined },
): readonly Candidate[] {
  const { work, deliveryPolicy } = call
  const serving = candidates.filter(canServe)
  const delivering = deliveringAs(deliveryPolicy, serving)
  if (delivering.length === 0 && serving.length > 0 && !work.answerWithoutUpstream) throw tierUnavailable(call, model)
  const needs = traits?.needs ?? []
  const capable = capableOf(needs, delivering)
  if (capable.length === 0 && delivering.length > 0) throw incapable(model, missingFrom(needs, delivering))
  if (capable.every(({ offer }) => offer.contextLength === model.limits.contextLength)) return capable
  return roomyFor(work.estimate(UNLIMITED).inputTokens ?? 0, capable)
}

function tierUnavailable({ deliveryPolicy, requestId }: ClientCall, model: Model): Fault {
  return new Fault(
    'delivery_tier_unavailable',
    `The model "${model.id}" is not available with ${deliveryPolicy} delivery at the moment.`,
    { hint: 'Ask with `X-Gateway-Delivery-Policy: auto` to take what there is.', requestId },
  )
}

function incapable(model: Model, missing: readonly string[]): Fault {
  return new Fault('invalid_request', `The model "${model.id}" lacks what this request needs: ${missing.join(', ')}.`, {
    param: 'model',
    hint: 'GET /v1/models says what each model can do.',
  })
}
