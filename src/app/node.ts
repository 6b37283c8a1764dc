import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Registry } from 'prom-client'
import { apiRoutes } from '#api/routes.ts'
import { PriceRegister } from '#catalog/price-register.ts'
import { openApiDocument } from '#http/inbound/openapi.ts'
import { InboundServer } from '#http/inbound/server.ts'
import { OutboundClient } from '#http/outbound/client.ts'
import { OutboundGuard } from '#http/outbound/guard.ts'
import type { Logger } from '#lib/log.ts'
import { Vault } from '#lib/vault.ts'
import { admitManager } from '#management/management-route.ts'
import { managementRoutes } from '#management/routes.ts'
import { Journal } from '#metering/journal/journal.ts'
import { Meter } from '#metering/meter.ts'
import { explainRequest } from '#metering/requests/explain.ts'
import { Shipper } from '#metering/shipper.ts'
import { KEYED_PROVIDERS, PROVIDERS } from '#providers/registry.ts'
import { QUOTA_TOPICS } from '#quota/broker.ts'
import { Quota } from '#quota/quota.ts'
import { Rates } from '#quota/rate/rates.ts'
import { rateBoard } from '#quota/rate/store.ts'
import { AnswerCache } from '#relay/answer-cache.ts'
import { Endpoints } from '#relay/endpoints.ts'
import { PrivateOffers } from '#relay/private-offers.ts'
import { probeProviderKey } from '#relay/probe.ts'
import { Relay } from '#relay/relay.ts'
import { ResponseCache } from '#response-cache/response-cache.ts'
import { ChangeFeed } from '#storage/changes.ts'
import { type Database, openDatabase, ping } from '#storage/database.ts'
import { StoredResponses } from '#stored-responses/stored-responses.ts'
import { Authenticator } from '#tenants/authenticator.ts'
import { CredentialHasher } from '#tenants/credential.ts'
import { ProviderKeys } from '#tenants/provider-keys/provider-keys.ts'
import { PROVIDER_KEYS_TOPIC } from '#tenants/provider-keys/store.ts'
import type { Environment } from './config/environment.ts'
import { backgroundDuties, type Duty } from './duties.ts'
import type { Foundation } from './foundation.ts'
import { listenOn } from './listen.ts'
import { loadNodeId } from './node-identity.ts'
import { createRouter } from './routing.ts'
import { Settings } from './settings.ts'
import { systemRoutes } from './system-routes.ts'
import { Telemetry } from './telemetry.ts'

const DATABASE_CONNECTIONS_MAX = 10
const READINESS_PATIENCE_MS = 2_000
/** After the drain deadline, streams are told to end; this long they have to do it. */
const STOP_PATIENCE_MS = 5_000
/**
 * How long a stopping node waits for the database to take its last records, which are safe in the journal, and to take
 * back its leases, which others get when it is back or has been silent for long.
 */
const PARTING_PATIENCE_MS = 10_000

export interface NodeOptions {
  readonly environment: Environment
  readonly log: Logger
  readonly foundation: Pick<Foundation, 'address' | 'secret' | 'sandboxUrl'>
  /** Distinguishes the workers on one data folder; each has a journal of its own. */
  readonly index: number
  /** The metrics of all workers, where there are several. */
  readonly clusterMetrics?: () => Promise<string>
}

/** Where a node keeps what is its own, and what it is called. */
interface NodePlace {
  readonly folder: string
  readonly nodeId: string
}

const ABOUT_QUOTA: ReadonlySet<string> = new Set(Object.values(QUOTA_TOPICS))

/** One serving process: everything between the listening socket and the database. */
export class ServingNode {
  readonly #log: Logger
  readonly #settings: Settings
  readonly #database: Database
  readonly #prices: PriceRegister
  readonly #feed: ChangeFeed
  readonly #journal: Journal
  readonly #shipper: Shipper
  readonly #quota: Quota
  readonly #rates: Rates
  readonly #guard: OutboundGuard
  readonly #outbound: OutboundClient
  readonly #providerKeys: ProviderKeys
  readonly #relay: Relay
  readonly #server: InboundServer
  readonly #storedResponses: StoredResponses
  readonly #responseCache: ResponseCache
  readonly #duties: readonly Duty[]
  readonly #environment: Environment
  /** What this process counts. */
  readonly metrics: Registry
  #port: number | undefined
  #isDraining = false

  /** @throws ConfigError when the configuration has a mistake */
  static async create(options: NodeOptions): Promise<ServingNode> {
    const { environment, foundation, log } = options
    const settings = await Settings.load({ ...environment, sandboxUrl: foundation.sandboxUrl, log })
    const folder = path.join(environment.dataFolder, 'nodes', String(options.index))
    return new ServingNode(options, settings, { folder, nodeId: await loadNodeId(folder) })
  }

  private constructor(options: NodeOptions, settings: Settings, { folder, nodeId }: NodePlace) {
    const { environment, foundation, log } = options
    const telemetry = new Telemetry(log)
    const onError = (error: unknown, duty: string) => telemetry.dutyFailed(error, duty)
    const hasher = new CredentialHasher(foundation.secret)
    const vault = new Vault(foundation.secret)
    this.#environment = environment
    this.metrics = telemetry.registry
    this.#log = log
    this.#settings = settings
    this.#database = openDatabase(foundation.address, {
      connectionsMax: DATABASE_CONNECTIONS_MAX,
      onIdleError: error => log.warn({ cause: error.message }, 'database.connection_lost'),
    })
    this.#prices = new PriceRegister(this.#database)
    this.#feed = new ChangeFeed({
      database: this.#database,
      address: foundation.address,
      onChange: (topic, subject) => {
        if (ABOUT_QUOTA.has(topic)) this.#quota.heard(topic, subject)
        else if (topic === PROVIDER_KEYS_TOPIC) this.#providerKeys.forget(subject)
        else authenticator.forget(subject)
      },
      onError,
    })
    const authenticator = new Authenticator({
      database: this.#database,
      hasher,
      feedLagMs: () => this.#feed.lagMs,
    })
    this.#journal = new Journal({ folder: path.join(folder, 'journal'), onError })
    this.#quota = new Quota({ database: this.#database, nodeId, observer: telemetry.quota, onError })
    this.#rates = new Rates({
      board: rateBoard(this.#database),
      nodeId,
      siblings: environment.workers,
      onRefused: kind => telemetry.rateLimited(kind),
      onError,
    })
    this.#shipper = new Shipper({
      journal: this.#journal,
      database: this.#database,
      nodeId,
      quota: this.#quota,
      rejectedFile: path.join(folder, 'rejected.jsonl'),
      onShipped: records => telemetry.usageShipped(records),
      onRejected: error => telemetry.usageRejected(error),
      onError,
    })
    this.#providerKeys = new ProviderKeys({
      database: this.#database,
      vault,
      feedLagMs: () => this.#feed.lagMs,
      onDisabled: (key, reason) => telemetry.providerKeyDisabled(key, reason),
      onError,
    })
    this.#guard = new OutboundGuard({ trustedNetworks: environment.trustedNetworks, ownPort: () => this.#port })
    this.#outbound = new OutboundClient(this.#guard)
    this.#responseCache = new ResponseCache({
      database: this.#database,
      ...settings.current.cache,
      observer: telemetry.cache,
      onError,
    })
    this.#relay = this.#createRelay(telemetry)
    this.#storedResponses = new StoredResponses({
      database: this.#database,
      keptMs: settings.current.responsesKeptMs,
      onUnkept: (error, requestId) => telemetry.responseUnkept(error, requestId),
      onError,
    })
    this.#duties = backgroundDuties({ database: this.#database, settings, telemetry, onError })
    this.#server = this.#createServer(options, { authenticator, hasher, vault, telemetry })
    this.#watch(telemetry)
  }

  #createRelay(telemetry: Telemetry): Relay {
    const meter = new Meter({
      journal: this.#journal,
      shipper: this.#shipper,
      durability: this.#settings.current.durability,
    })
    const showsRouting = () => this.#settings.current.showsRouting
    return new Relay({
      catalog: () => this.#settings.current.catalog,
      keepAliveMs: this.#settings.current.keepAliveMs,
      showsRouting,
      endpoints: new Endpoints({
        providers: PROVIDERS,
        onCredentialFailure: (error, channelId) => telemetry.credentialFailed(error, channelId),
      }),
      privateOffers: new PrivateOffers({
        providerKeys: this.#providerKeys,
        providers: KEYED_PROVIDERS,
        fee: () => this.#settings.current.byokFee,
      }),
      router: createRouter(() => this.#settings.current, telemetry),
      outbound: this.#outbound,
      quota: this.#quota,
      meter,
      answerCache: new AnswerCache({ responses: this.#responseCache, meter, showsRouting }),
    })
  }

  /** @returns the port. @throws ConfigError when it is taken */
  async start(): Promise<number> {
    try {
      await this.#journal.open()
      await this.#feed.start()
      await this.#prices.enter(this.#settings.current.catalog, this.#settings.current.byokFee)
      this.#shipper.start()
      // What an earlier life has spent is posted before its leases are given back.
      await this.#shipper.shipped()
      await this.#quota.start()
      await this.#rates.start()
      this.#storedResponses.start()
      this.#providerKeys.start()
      this.#responseCache.start()
      for (const duty of this.#duties) duty.start()
      this.#port = await listenOn(this.#server, this.#environment)
      this.#settings.follow(({ catalog, byokFee }) => this.#prices.enter(catalog, byokFee))
      return this.#port
    } catch (error) {
      await this.#release()
      throw error
    }
  }

  /**
   * Not ready, no new connections; streams may end until the deadline, then they are ended; all usage is shipped.
   *
   * @param hurry aborts the wait for the deadline
   */
  async stop(hurry?: AbortSignal): Promise<void> {
    this.#isDraining = true
    this.#log.info({ open_requests: this.#server.openCount }, 'node.draining')
    const drained = this.#server.drain()
    const deadline = sleep(this.#settings.current.drainDeadlineMs, undefined, { signal: hurry, ref: false }).catch(
      () => {},
    )
    await Promise.race([drained, deadline])
    this.#relay.stopAll()
    await Promise.race([drained, sleep(STOP_PATIENCE_MS, undefined, { ref: false })])
    if (await succeedsInTime(this.#shipper.shipped())) {
      if (!(await succeedsInTime(this.#quota.leave()))) this.#log.warn('quota.left_leased')
    } else this.#log.warn('usage.left_in_journal')
    // Until then its share of each rate counts as in use.
    await succeedsInTime(this.#rates.leave())
    await this.#release()
    this.#log.info('node.stopped')
  }

  /** Lets go of everything, in the reverse order of its start. */
  async #release(): Promise<void> {
    this.#settings.close()
    await this.#server.close()
    await this.#quota.stop()
    await this.#rates.stop()
    await this.#shipper.stop()
    await this.#responseCache.stop()
    await this.#storedResponses.stop()
    await this.#providerKeys.stop()
    await Promise.all(this.#duties.map(duty => duty.stop()))
    await this.#feed.stop()
    await this.#journal.close()
    await this.#outbound.close()
    await this.#database.destroy()
  }

  #createServer(
    { clusterMetrics }: NodeOptions,
    {
      authenticator,
      hasher,
      vault,
      telemetry,
    }: { authenticator: Authenticator; hasher: CredentialHasher; vault: Vault; telemetry: Telemetry },
  ): InboundServer {
    const { registry } = telemetry
    const metrics: Pick<Registry, 'metrics' | 'contentType'> = {
      contentType: registry.contentType,
      metrics: clusterMetrics ?? (() => registry.metrics()),
    }
    const callers = { authenticator, rates: this.#rates, roleRates: () => this.#settings.current.roleRates }
    const routes = [
      ...apiRoutes({
        ...callers,
        relay: this.#relay,
        storedResponses: this.#storedResponses,
        cachingTimes: this.#settings.current.cache,
        catalog: () => this.#settings.current.catalog,
        admitManager: request => admitManager(callers, request),
        explain: (requestId, owner) =>
          explainRequest(this.#database, { requestId, owner }, { showsChannels: this.#settings.current.showsRouting }),
      }),
      ...managementRoutes({
        ...callers,
        database: this.#database,
        hasher,
        vault,
        providers: new Set(KEYED_PROVIDERS.keys()),
        objectionTo: url => this.#guard.objectionTo(url),
        probe: key => probeProviderKey({ outbound: this.#outbound, providers: KEYED_PROVIDERS }, key),
        responseCache: this.#responseCache,
      }),
      ...systemRoutes({
        unreadiness: () => this.#unreadiness(),
        metrics,
        metricsToken: () => this.#settings.current.metricsToken,
        document: () => document,
      }),
    ]
    const document = openApiDocument(routes)
    return new InboundServer({ routes, document, onCompleted: completed => telemetry.requestCompleted(completed) })
  }

  #watch(telemetry: Telemetry): void {
    telemetry.watch({
      open_requests: { help: 'Requests under way.', read: () => this.#server.openCount },
      journal_refusing: {
        help: 'Whether new work is refused because usage cannot be recorded.',
        read: () => (this.#journal.refusal === undefined ? 0 : 1),
      },
      quota_leased_usd: { help: 'Leased to this node.', read: () => this.#quota.totals.leased },
      quota_held_usd: { help: 'Held by requests under way on this node.', read: () => this.#quota.totals.held },
      quota_drift: {
        help: 'US dollars by which what is leased differs from the sum of the leases. Must be 0.',
        read: () => this.#quota.totals.drift,
      },
      rate_subjects: {
        help: 'Organizations and keys with requests in the last minute on this node.',
        read: () => this.#rates.subjectCount,
      },
      cache_bytes: {
        help: 'Bytes of all cached answers, of all nodes, when this node last counted them.',
        isShared: true,
        read: () => this.#responseCache.bytes,
      },
      cache_waiting_bytes: {
        help: 'Bytes of answers that are yet to be written to the cache.',
        read: () => this.#responseCache.waitingBytes,
      },
      change_feed_lag_seconds: { help: 'Age of what is known of key changes.', read: () => this.#feed.lagMs / 1000 },
    })
  }

  async #unreadiness(): Promise<string | undefined> {
    if (this.#isDraining) return 'draining'
    if (this.#journal.refusal !== undefined) return 'usage cannot be recorded'
    try {
      await Promise.race([ping(this.#database), rejectAfter(READINESS_PATIENCE_MS)])
      return undefined
    } catch {
      return 'the database cannot be reached'
    }
  }
}

async function succeedsInTime(parting: Promise<void>): Promise<boolean> {
  const success = parting.then(
    () => true,
    () => false,
  )
  return Promise.race([success, sleep(PARTING_PATIENCE_MS, false, { ref: false })])
}

async function rejectAfter(ms: number): Promise<never> {
  await sleep(ms, undefined, { ref: false })
  throw new Error('timed out')
}
