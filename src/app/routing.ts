import type { Catalog } from '#catalog/catalog.ts'
import { Health } from '#routing/health.ts'
import type { RoutingPolicy } from '#routing/policy.ts'
import { Router } from '#routing/router.ts'
import type { Telemetry } from './telemetry.ts'

const BREAKER_VALUES = Object.freeze({ closed: 0, 'half-open': 0.5, open: 1 })

/** @param current what the configuration says now */
export function createRouter(
  current: () => { readonly routing: RoutingPolicy; readonly catalog: Catalog },
  telemetry: Telemetry,
): Router {
  const health = new Health({
    nowMs: () => performance.now(),
    isEjecting: () => current().routing.isEjecting,
    observer: telemetry.routing,
  })
  telemetry.watchEach('breaker_open', {
    help: 'Whether a channel is left alone for a model of its own: 1 open, 0.5 to be probed, 0 closed.',
    labels: ['channel', 'model'],
    read: () => health.breakers().map(({ state, ...labels }) => ({ labels, value: BREAKER_VALUES[state] })),
  })
  telemetry.watchEach('credentials_disabled', {
    help: 'Keys of a channel that its provider refuses. Must be 0.',
    labels: ['channel', 'credential'],
    read: () =>
      [...current().catalog.channels.values()].flatMap(({ id: channel, credentials }) =>
        credentials.map(credential => ({
          labels: { channel, credential: credential.id },
          value: health.isDisabled(credential) ? 1 : 0,
        })),
      ),
  })
  return new Router({ health, policy: () => current().routing, random: Math.random })
}
