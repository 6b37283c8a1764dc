import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { BudgetAlert } from '#budget-alerts/store.ts'
import { FAULT_KINDS, Fault } from '#core/fault.ts'
import type { Completed } from '#http/inbound/server.ts'
import { type Logger, logWide, type WideLevel } from '#lib/log.ts'
import { scrub } from '#lib/scrub.ts'
import type { QuotaObserver } from '#quota/quota.ts'
import type { Difference } from '#reconciliation/store.ts'
import type { CacheObserver } from '#response-cache/response-cache.ts'
import type { RoutingObserver } from '#routing/health.ts'
import type { ProviderKey } from '#tenants/provider-keys/provider-key.ts'

/** What all customers' own channels are called: they are without number, and a metric that was once made stays. */
const OWN_CHANNELS = 'byok'

const DURATION_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const QUOTA_WAIT_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const OVERHEAD_BUCKETS = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5]

interface Reading {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

interface WatchedGauge {
  readonly help: string
  /** All workers say the same; otherwise each has a share of its own. */
  readonly isShared?: boolean
  read(): number
}

/** The one log line of a request and the metrics that it moves. */
export class Telemetry {
  readonly registry = new Registry()
  readonly #log: Logger
  readonly #requests = new Counter({
    name: 'tollgate_requests_total',
    help: 'Requests by route and status; status 0 is a client that left before its answer began.',
    labelNames: ['route', 'status'],
    registers: [this.registry],
  })
  readonly #duration = new Histogram({
    name: 'tollgate_request_duration_seconds',
    help: 'From the request headers to the last byte of the answer.',
    labelNames: ['route'],
    buckets: DURATION_BUCKETS,
    registers: [this.registry],
  })
  readonly #overhead = new Histogram({
    name: 'tollgate_overhead_seconds',
    help: "What the gateway added to the upstream's own time.",
    buckets: OVERHEAD_BUCKETS,
    registers: [this.registry],
  })
  readonly #firstByte = new Histogram({
    name: 'tollgate_upstream_first_byte_seconds',
    help: "From sending a request to the answer's headers.",
    labelNames: ['channel', 'model'],
    buckets: DURATION_BUCKETS,
    registers: [this.registry],
  })
  readonly #tokens = new Counter({
    name: 'tollgate_tokens_total',
    help: 'Tokens by model and direction.',
    labelNames: ['model', 'direction'],
    registers: [this.registry],
  })
  readonly #cost = new Counter({
    name: 'tollgate_cost_usd_total',
    help: 'Charged US dollars by model and channel, for graphs; the exact amounts are in the usage report.',
    labelNames: ['model', 'channel'],
    registers: [this.registry],
  })
  readonly #faults = new Counter({
    name: 'tollgate_faults_total',
    help: 'Errors sent to clients, by code.',
    labelNames: ['code'],
    registers: [this.registry],
  })
  readonly #shipped = new Counter({
    name: 'tollgate_usage_shipped_total',
    help: 'Usage records that reached the database.',
    registers: [this.registry],
  })
  readonly #rejected = new Counter({
    name: 'tollgate_usage_rejected_total',
    help: 'Usage records that the database refused and that were set aside in rejected.jsonl. Must be 0.',
    registers: [this.registry],
  })
  readonly #unkept = new Counter({
    name: 'tollgate_responses_unkept_total',
    help: 'Responses that were given but could not be stored for later requests.',
    registers: [this.registry],
  })

  readonly #providerKeysDisabled = new Counter({
    name: 'tollgate_provider_keys_disabled_total',
    help: 'Provider keys of customers that their provider refused and that are not used any more.',
    labelNames: ['provider'],
    registers: [this.registry],
  })
  readonly #grants = new Counter({
    name: 'tollgate_quota_grants_total',
    help: 'Grants that this node took from balances and key limits.',
    registers: [this.registry],
  })
  readonly #budgetAlerts = new Counter({
    name: 'tollgate_budget_alerts_total',
    help: 'Thresholds of balances and limits that were crossed, by what ran low.',
    labelNames: ['kind', 'threshold'],
    registers: [this.registry],
  })
  readonly #quotaWait = new Histogram({
    name: 'tollgate_quota_wait_seconds',
    help: 'How long requests waited that no lease could admit at once.',
    buckets: QUOTA_WAIT_BUCKETS,
    registers: [this.registry],
  })
  readonly #quotaRefusals = new Counter({
    name: 'tollgate_quota_refusals_total',
    help: 'Requests that could not be admitted, by reason.',
    labelNames: ['reason'],
    registers: [this.registry],
  })

  readonly #attempts = new Counter({
    name: 'tollgate_attempts_total',
    help: 'Requests to upstreams by channel and outcome: answered, dropped, or what failed.',
    labelNames: ['channel', 'outcome'],
    registers: [this.registry],
  })
  readonly #rateLimited = new Counter({
    name: 'tollgate_rate_limited_total',
    help: 'Requests refused because too many were sent, by whose limit it was.',
    labelNames: ['subject'],
    registers: [this.registry],
  })

  readonly routing: RoutingObserver = {
    attempted: ({ offer: { channel } }, outcome) =>
      this.#attempts.inc({ channel: channel.isPrivate ? OWN_CHANNELS : channel.id, outcome }),
    credentialDisabled: ({ offer, credential }, symptom) =>
      this.#log.error({ channel: offer.channel.id, place: credential.id, symptom }, 'credential.disabled'),
    credentialRestored: ({ offer, credential }) =>
      this.#log.info({ channel: offer.channel.id, place: credential.id }, 'credential.restored'),
  }

  readonly quota: QuotaObserver = {
    granted: () => this.#grants.inc(),
    waited: ms => this.#quotaWait.observe(ms / 1000),
    refused: reason => this.#quotaRefusals.inc({ reason }),
  }

  readonly #cacheLookups = new Counter({
    name: 'tollgate_cache_lookups_total',
    help: 'Requests that asked for an answer given before, by result.',
    labelNames: ['result'],
    registers: [this.registry],
  })
  readonly #cacheStored = new Counter({
    name: 'tollgate_cache_stored_total',
    help: 'Answers that were kept to be given again.',
    registers: [this.registry],
  })
  readonly #cacheStoredBytes = new Counter({
    name: 'tollgate_cache_stored_bytes_total',
    help: 'Bytes of them, compressed.',
    registers: [this.registry],
  })
  readonly #cacheEvicted = new Counter({
    name: 'tollgate_cache_evicted_total',
    help: 'Cached answers that this node deleted, because they had expired or room was needed.',
    labelNames: ['reason'],
    registers: [this.registry],
  })
  readonly #cacheFailures = new Counter({
    name: 'tollgate_cache_failures_total',
    help: 'Cached answers that could not be read in time, or not written. Nobody was refused for it.',
    labelNames: ['operation'],
    registers: [this.registry],
  })

  readonly cache: CacheObserver = {
    hit: () => this.#cacheLookups.inc({ result: 'hit' }),
    missed: () => this.#cacheLookups.inc({ result: 'miss' }),
    stored: bytes => {
      this.#cacheStored.inc()
      this.#cacheStoredBytes.inc(bytes)
    },
    evicted: (count, reason) => this.#cacheEvicted.inc({ reason }, count),
    unkept: (error, requestId) => {
      this.#cacheFailures.inc({ operation: 'write' })
      this.#log.warn({ request_id: requestId, cause: describe(error) }, 'cache.unkept')
    },
    unread: error => {
      this.#cacheFailures.inc({ operation: 'read' })
      this.#log.warn({ cause: describe(error) }, 'cache.unread')
    },
  }

  constructor(log: Logger) {
    this.#log = log
    collectDefaultMetrics({ register: this.registry })
  }

  /** Metrics that are read off something when they are asked for. */
  watch(gauges: Readonly<Record<string, WatchedGauge>>): void {
    for (const [name, { help, isShared = false, read }] of Object.entries(gauges)) {
      new Gauge({
        name: `tollgate_${name}`,
        help,
        aggregator: isShared ? 'max' : 'sum',
        registers: [this.registry],
        collect() {
          this.set(read())
        },
      })
    }
  }

  /** The same for a metric with labels: what is not read any more is not shown any more. */
  watchEach(
    name: string,
    { help, labels, read }: { help: string; labels: readonly string[]; read(): Iterable<Reading> },
  ): void {
    new Gauge({
      name: `tollgate_${name}`,
      help,
      labelNames: [...labels],
      registers: [this.registry],
      collect() {
        this.reset()
        for (const reading of read()) this.set({ ...reading.labels }, reading.value)
      },
    })
  }

  requestCompleted(completed: Completed): void {
    const { facts, route, status } = completed
    const fault = faultOf(completed)
    this.#requests.inc({ route, status })
    this.#duration.observe({ route }, completed.durationMs / 1000)
    if (fault) this.#faults.inc({ code: fault.code })
    if (typeof facts.overhead_ms === 'number') this.#overhead.observe(facts.overhead_ms / 1000)
    const { model } = facts
    const channel = facts.access_channel === 'byok' ? OWN_CHANNELS : facts.channel
    if (typeof model === 'string' && typeof channel === 'string') this.#countUse(facts, model, channel)
    logWide(this.#log, levelOf(fault, completed), lineOf(completed, fault), 'request.completed')
  }

  rateLimited(subject: string): void {
    this.#rateLimited.inc({ subject })
  }

  usageShipped(records: number): void {
    this.#shipped.inc(records)
  }

  usageRejected(error: unknown): void {
    this.#rejected.inc()
    this.#log.error({ cause: describe(error) }, 'usage.rejected')
  }

  responseUnkept(error: unknown, requestId: string): void {
    this.#unkept.inc()
    this.#log.warn({ request_id: requestId, cause: describe(error) }, 'response.unkept')
  }

  /** The credential of a channel could not be fetched or renewed; it is tried again when it is needed. */
  credentialFailed(error: unknown, channelId: string): void {
    this.#log.warn({ channel: channelId, cause: describe(error) }, 'credential.failed')
  }

  /** The books disagree: a bug, and the evidence of it. */
  booksDiffer(invariant: string, difference: Difference): void {
    this.#log.error({ invariant, ...difference }, 'reconcile.difference')
  }

  /** Somebody who held money for work never came back for it. */
  holdsExpired(holds: number): void {
    this.#log.warn({ holds }, 'hold.expired')
  }

  budgetCrossed({ kind, organizationId, threshold, ...figures }: BudgetAlert): void {
    this.#budgetAlerts.inc({ kind, threshold })
    const about =
      'balance' in figures
        ? { balance_usd: figures.balance }
        : { api_key_id: figures.keyId, used_usd: figures.used, limit_usd: figures.limit }
    this.#log.warn({ kind, organization_id: organizationId, threshold, ...about }, 'budget.alert')
  }

  providerKeyDisabled({ id, provider, workspaceId }: ProviderKey, reason: string): void {
    this.#providerKeysDisabled.inc({ provider })
    this.#log.warn({ provider_key_id: id, provider, workspace_id: workspaceId, reason }, 'provider_key.disabled')
  }

  /** A background duty failed; it will be tried again. */
  dutyFailed(error: unknown, duty: string): void {
    this.#log.error({ duty, cause: describe(error) }, 'duty.failed')
  }

  #countUse(facts: Completed['facts'], model: string, channel: string): void {
    if (typeof facts.first_byte_ms === 'number') this.#firstByte.observe({ channel, model }, facts.first_byte_ms / 1000)
    if (typeof facts.prompt_tokens === 'number') this.#tokens.inc({ model, direction: 'input' }, facts.prompt_tokens)
    if (typeof facts.completion_tokens === 'number')
      this.#tokens.inc({ model, direction: 'output' }, facts.completion_tokens)
    if (typeof facts.cost_usd === 'string') this.#cost.inc({ model, channel }, Number(facts.cost_usd))
  }
}

/** The gateway's own failures are errors; a provider's are warnings; a caller's mistake is ordinary business. */
function levelOf(fault: Fault | undefined, { isQuiet }: Completed): WideLevel {
  if (fault?.code === 'internal_error') return 'error'
  if (fault && fault.status >= 500) return 'warn'
  return isQuiet ? 'debug' : 'info'
}

/** The refusal, or the error that ended an answer already begun, which the relay leaves among the facts. */
function faultOf({ fault, facts }: Completed): Fault | undefined {
  return fault ?? (facts.fault instanceof Fault ? facts.fault : undefined)
}

function lineOf(completed: Completed, fault: Fault | undefined): Record<string, unknown> {
  const { fault: _told, ...facts } = completed.facts
  return {
    request_id: completed.requestId,
    client_request_id: completed.clientRequestId,
    method: completed.method,
    route: completed.route,
    status: completed.status,
    duration_ms: Math.round(completed.durationMs * 1000) / 1000,
    body_bytes: completed.bodyBytes,
    ...(completed.isGone && { is_client_gone: true }),
    ...facts,
    ...(fault && { error: describeFault(fault) }),
  }
}

function describeFault(fault: Fault): Record<string, unknown> {
  return {
    code: fault.code,
    type: FAULT_KINDS[fault.code].type,
    message: scrub(fault.message),
    param: fault.param,
    ...(fault.cause !== undefined && { cause: describe(fault.cause) }),
  }
}

function describe(cause: unknown): string {
  if (!(cause instanceof Error)) return scrub(typeof cause === 'string' ? cause : (JSON.stringify(cause) ?? ''))
  // An error of the system or a library says enough by its code; one of ours needs its stack.
  return scrub('code' in cause ? `${String(cause.code)}: ${cause.message}` : (cause.stack ?? cause.message))
}
