import { hash, timingSafeEqual } from 'node:crypto'
import type { Registry } from 'prom-client'
import { Fault } from '#core/fault.ts'
import { bearerToken } from '#http/inbound/bearer-token.ts'
import { type AnyRoute, defineRoute, type Inbound, type RouteDocs, sendJson } from '#http/inbound/route.ts'

export interface SystemDeps {
  /** Why this node should get no traffic now, or `undefined`. */
  unreadiness(): Promise<string | undefined>
  readonly metrics: Pick<Registry, 'metrics' | 'contentType'>
  /** Who sends it may read the metrics from anywhere; without one they are for this machine only. */
  metricsToken(): string | undefined
  document(): object
}

/** What operators and their tools ask, without an API key. */
export function systemRoutes({ unreadiness, metrics, metricsToken, document }: SystemDeps): AnyRoute[] {
  return [
    systemRoute('/healthz', 'The process lives', ({ sink }) => sendJson(sink, 200, { status: 'ok' })),
    systemRoute('/readyz', 'This node may get traffic', async ({ sink }) => {
      const reason = await unreadiness()
      if (reason === undefined) sendJson(sink, 200, { status: 'ready' })
      else sendJson(sink, 503, { status: 'not ready', reason })
    }),
    systemRoute('/openapi.json', 'This document', ({ sink }) => sendJson(sink, 200, document())),
    systemRoute('/metrics', 'Prometheus metrics', async request => {
      authorizeMetrics(request, metricsToken())
      const text = Buffer.from(await metrics.metrics())
      request.sink.send(200, { 'content-type': metrics.contentType }, text)
    }),
  ]
}

function systemRoute(path: string, summary: string, handle: (request: Inbound) => void | Promise<void>): AnyRoute {
  const docs: RouteDocs = { tag: 'System', summary, security: 'none', errors: [] }
  return defineRoute({ method: 'GET', path, bodyBytesMax: 0, isQuiet: true, authorize: () => undefined, handle, docs })
}

const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/

function authorizeMetrics(request: Inbound, token: string | undefined): void {
  if (token === undefined ? LOOPBACK.test(request.remoteAddress) : isSame(bearerToken(request) ?? '', token)) return
  throw new Fault('access_denied', 'The metrics are not for this caller.', {
    hint: 'Set `metrics: { token: … }` in the configuration file and send it as a bearer token.',
  })
}

/** Takes the same time for every wrong guess. */
function isSame(given: string, wanted: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', wanted, 'buffer'))
}
