import { sql } from 'kysely'
import type { Database } from '#storage/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import type { Ask, Way } from './clients/client.ts'
import { CLIENTS } from './clients/index.ts'
import type { Answer, Conversation, Format } from './conversation.ts'
import { FORMATS } from './conversation.ts'
import { Exchange } from './exchange.ts'
import { DIALECTS } from './upstreams/index.ts'
import { Provider } from './upstreams/provider.ts'

/** One gateway in front of every provider, for the whole matrix. */
export class Rig {
  readonly provider: Provider
  readonly #gateway: Gateway
  readonly #database: Database

  private constructor(provider: Provider, gateway: Gateway) {
    this.provider = provider
    this.#gateway = gateway
    this.#database = (gateway.database as TestDatabase).open()
  }

  /** @param fixtures what the models answer, one model of each upstream for each */
  static async start(fixtures: readonly string[]): Promise<Rig> {
    const provider = await Provider.start()
    try {
      const gateway = await Gateway.start({ config: config(provider.url, [...new Set(fixtures)]) })
      return new Rig(provider, gateway)
    } catch (error) {
      await provider.stop()
      throw error
    }
  }

  async stop(): Promise<void> {
    await this.#database.destroy()
    await this.#gateway.stop()
    await this.provider.stop()
  }

  ask(call: Call): Promise<Answer> {
    const { client, way, upstream, fixture, exchange = new Exchange(), ...rest } = call
    const { baseUrl, apiKey } = this.#gateway
    return CLIENTS[client].ask(way, { baseUrl, apiKey, model: modelOf(upstream, fixture), exchange, ...rest })
  }

  /** What a request is billed by, once it is in the books. */
  billOf(requestId: string): Promise<Bill> {
    return billOf(this.#database, requestId)
  }
}

export interface Call extends Pick<Ask, 'conversation' | 'signal' | 'onText'> {
  readonly client: Format
  readonly way: Way
  readonly upstream: Format
  readonly fixture: string
  readonly exchange?: Exchange
}

export interface Bill {
  readonly outcome: string
  readonly is_estimated: boolean
  readonly prompt_tokens: number | null
  readonly cache_read_tokens: number | null
  readonly cache_write_tokens: number | null
  readonly cache_write_tokens_5m: number | null
  readonly cache_write_tokens_1h: number | null
  readonly completion_tokens: number | null
  readonly cost: string
}

/** What a request is billed by, once it is in the books. */
export function billOf(database: Database, requestId: string): Promise<Bill> {
  return eventually(`the usage row of ${requestId}`, async () => {
    const { rows } = await sql<Bill>`
      select outcome, is_estimated, prompt_tokens, cache_read_tokens, cache_write_tokens, cache_write_tokens_5m,
        cache_write_tokens_1h, completion_tokens, trim_scale(cost)::text as cost
      from usage_events where request_id = ${requestId}
    `.execute(database)
    return rows[0]
  })
}

/** A question that no other call asks. */
export function question(words: string): Conversation {
  return { system: 'Be brief.', turns: [{ by: 'user', text: words }], maxTokens: 500 }
}

/** The public name of the model behind which `upstream` answers from `fixture`. */
export function modelOf(upstream: Format, fixture: string): string {
  return `${upstream}.${fixture}`
}

function config(url: string, fixtures: readonly string[]): string {
  const channels = FORMATS.map(format => {
    const { provider, basePath } = DIALECTS[format]
    return `  - { id: ${format}, provider: ${provider}, base_url: "${url}${basePath}", api_key: sk-upstream, formats: [${format}] }`
  })
  const models = FORMATS.flatMap(format =>
    fixtures.map(
      fixture => `  - id: "${modelOf(format, fixture)}"
    scene: chat
    context_length: 128000
    max_output_tokens: 4096
    price: { input: "1", output: "2", cache_read: "0.5", per: 1M }
    offers: [{ channel: ${format}, upstream_model: "${fixture}" }]`,
    ),
  )
  // The matrix asks more in a minute than the usual limit lets through.
  const limits = 'limits: { requests_per_minute: { user: 1000000 } }'
  return `${limits}\nchannels:\n${channels.join('\n')}\nmodels:\n${models.join('\n')}\n`
}
