import type { Catalog, Model } from '#catalog/catalog.ts'
import { visibleModels } from '#catalog/resolve.ts'
import { type Alternative, Fault } from '#core/fault.ts'
import type { Candidate } from '#routing/candidate.ts'
import { deliveringAs } from '#routing/eligible.ts'
import type { Router } from '#routing/router.ts'
import type { ClientCall } from './call.ts'
import type { Failure } from './failure.ts'

const RETRY_AFTER_SECONDS_DEFAULT = 5
const ALTERNATIVES_MAX = 5

/** What the client is told when there is nobody left to ask. */
export interface Exhaustion {
  readonly call: ClientCall
  readonly model: Model
  readonly catalog: Catalog
  readonly router: Router
  /** Those that could have served it. */
  readonly candidates: readonly Candidate[]
}

/** Nobody could be asked at all. */
export function allOut(exhaustion: Exhaustion): Fault {
  return allFailed(exhaustion, 'No provider can take this request at the moment.', {})
}

/** One channel's failure is told as it is; of several, only that none was left. */
export function exhausted({ fault, kind }: Failure, tried: number, exhaustion: Exhaustion): Fault {
  const { hints, cause = fault } = fault
  if (fault.code === 'all_channels_failed') return allFailed(exhaustion, fault.message, { hints, cause })
  // What the caller can mend is told, whatever else was tried.
  if (kind !== 'safe' || tried === 1 || fault.status < 500) return fault
  return allFailed(exhaustion, 'No provider could take this request.', { hints, cause })
}

function allFailed(
  exhaustion: Exhaustion,
  message: string,
  { hints, cause }: { hints?: Fault['hints']; cause?: unknown },
): Fault {
  const { router, candidates } = exhaustion
  const readyAtMs = router.readyAtMs(candidates)
  const restSeconds = readyAtMs === undefined ? undefined : Math.ceil((readyAtMs - router.health.nowMs()) / 1_000)
  const alternatives = alternativesOf(exhaustion)
  return new Fault('all_channels_failed', message, {
    retryAfterSeconds: restSeconds ?? hints?.retryAfterSeconds ?? RETRY_AFTER_SECONDS_DEFAULT,
    ...(alternatives.length > 0 && { alternatives }),
    cause,
  })
}

/** Models for the same work that the caller may use and that could be asked now; the same logical model's first. */
function alternativesOf({ call, model, catalog, router }: Exhaustion): Alternative[] {
  const { principal, deliveryPolicy } = call
  const others = visibleModels(catalog, principal.models).filter(
    other => other.id !== model.id && other.scene === model.scene,
  )
  const found: Alternative[] = []
  for (const other of others.toSorted((a, b) => distance(a, model) - distance(b, model))) {
    if (found.length === ALTERNATIVES_MAX) break
    const candidates = deliveringAs(deliveryPolicy, router.candidatesOf(other))
    if (candidates.length === 0 || router.readyAtMs(candidates) !== undefined) continue
    found.push({ id: other.id, status: 'available', tags: other.tags })
  }
  return found
}

function distance(other: Model, model: Model): number {
  if (other.logicalModel === model.logicalModel) return 0
  return other.vendor !== undefined && other.vendor === model.vendor ? 1 : 2
}
