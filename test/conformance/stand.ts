import type { Database } from '#storage/database.ts'
import type { Ask, Way } from '../matrix/clients/client.ts'
import { CLIENTS } from '../matrix/clients/index.ts'
import type { Answer, Format } from '../matrix/conversation.ts'
import type { Exchange } from '../matrix/exchange.ts'
import { type Bill, billOf } from '../matrix/rig.ts'
import type { TestDatabase } from '../support/database.ts'
import { Gateway } from '../support/gateway.ts'
import { Host } from './host.ts'
import { KEY, nameOf, type Target } from './target.ts'

/** One gateway with a channel for every provider, and all providers behind it. */
export class Stand {
  readonly host: Host
  readonly gateway: Gateway
  readonly #database: Database

  private constructor(host: Host, gateway: Gateway) {
    this.host = host
    this.gateway = gateway
    this.#database = (gateway.database as TestDatabase).open()
  }

  /** @param fixtures what chat models answer, one model of each provider for each */
  static async start(targets: readonly Target[], fixtures: readonly string[]): Promise<Stand> {
    const host = new Host(targets)
    await host.start()
    try {
      return new Stand(host, await Gateway.start({ config: config(host.url, targets, [...new Set(fixtures)]) }))
    } catch (error) {
      await host.stop()
      throw error
    }
  }

  async stop(): Promise<void> {
    await this.#database.destroy()
    await this.gateway.stop()
    await this.host.stop()
  }

  ask(client: Format, way: Way, question: Pick<Ask, 'model' | 'conversation' | 'exchange'>): Promise<Answer> {
    const { baseUrl, apiKey } = this.gateway
    return CLIENTS[client].ask(way, { baseUrl, apiKey, ...question })
  }

  billOf({ headers }: Pick<Exchange, 'headers'>): Promise<Bill> {
    return billOf(this.#database, headers.get('x-request-id') ?? '')
  }
}

/** The public name of a provider's model that answers from `fixture`. */
export function modelOf(target: Target, fixture: string): string {
  return `${nameOf(target)}.${fixture}`
}

function config(url: string, targets: readonly Target[], fixtures: readonly string[]): string {
  const channels = targets.map(target => {
    const { provider, chat, channel } = target
    const id = nameOf(target)
    const base = `${url}/${id}`
    const formats = [chat?.format ?? [], 'embeddings', 'cohere-embed'].flat()
    return { id, provider, base_url: base, api_key: KEY, formats, ...channel?.(base) }
  })
  const models = targets.flatMap(target => [
    ...(target.chat ? fixtures : []).map(fixture => ({
      id: modelOf(target, fixture),
      scene: 'chat',
      context_length: 128_000,
      max_output_tokens: 4_096,
      price: { input: '1', output: '2', cache_read: '0.5', cache_write_5m: '1.25', cache_write_1h: '2' },
      offers: [{ channel: nameOf(target), upstream_model: fixture }],
    })),
    ...(target.embeddings ? [embeddingModel(target)] : []),
  ])
  // JSON is YAML.
  return JSON.stringify({
    channels,
    models,
    // Hosts fail on purpose here, and are asked in the next moment all the same.
    routing: { ejection: false, retry_share: 1 },
    limits: { requests_per_minute: { user: 1_000_000 } },
  })
}

function embeddingModel(target: Target): object {
  return {
    id: modelOf(target, 'embedding'),
    scene: 'embedding',
    price: { input: '1' },
    offers: [{ channel: nameOf(target), upstream_model: 'embedding' }],
  }
}
