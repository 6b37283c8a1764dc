import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { sql } from 'kysely'
import type { Database } from '#storage/database.ts'
import { runCommand } from './command.ts'
import { Gateway } from './gateway.ts'
import { createPayer, type TestPayer } from './payer.ts'

const SECRET = 'a secret that all nodes of a fleet have'

/** Several gateways on one database, each with a data folder of its own that survives its process. */
export class Fleet {
  readonly database: Database
  readonly #options: { url: string; config: string }
  readonly #folders: string[]
  readonly gateways: Gateway[] = []

  private constructor(options: { url: string; config: string; database: Database }, folders: string[]) {
    this.#options = options
    this.database = options.database
    this.#folders = folders
  }

  static async start(nodes: number, options: { url: string; config: string; database: Database }): Promise<Fleet> {
    const folders: string[] = []
    for (let i = 0; i < nodes; i++) folders.push(await mkdtemp(path.join(tmpdir(), 'tollgate-fleet-')))
    const fleet = new Fleet(options, folders)
    for (const index of folders.keys()) await fleet.launch(index)
    return fleet
  }

  /** Starts a node, or starts it again. */
  async launch(index: number): Promise<void> {
    this.gateways[index] = await Gateway.start({
      config: this.#options.config,
      // Not one of the run's databases that the gateway would own: the address stands in the environment.
      database: 'embedded',
      dataFolder: this.#folders[index] as string,
      environment: this.#environment,
    })
  }

  createPayer(money: { credit: string; limit?: string }): Promise<TestPayer> {
    return createPayer(this.database, { ...money, secret: SECRET })
  }

  /** US dollars that have been posted for a key. */
  async postedFor({ keyId }: TestPayer): Promise<number> {
    const { rows } = await sql<{ cost: string }>`
      select coalesce(sum(cost), 0)::text as cost from usage_events where api_key_id = ${keyId}
    `.execute(this.database)
    return Number(rows[0]?.cost)
  }

  async rowsOf({ keyId }: TestPayer): Promise<{ outcome: string; cost: string; is_estimated: boolean }[]> {
    const { rows } = await sql<{ outcome: string; cost: string; is_estimated: boolean }>`
      select outcome, cost::text as cost, is_estimated from usage_events where api_key_id = ${keyId} order by created_at
    `.execute(this.database)
    return rows
  }

  /** US dollars that all nodes have leased of all subjects. */
  async leased(): Promise<number> {
    const { rows } = await sql<{ amount: string }>`
      select coalesce(sum(amount), 0)::text as amount from quota_leases
    `.execute(this.database)
    return Number(rows[0]?.amount)
  }

  /** Runs `tollgate reconcile`. @returns what it found wrong, or `undefined` */
  async reconcile(): Promise<string | undefined> {
    const { code, output, errors } = await runCommand(['reconcile'], {
      ...this.#environment,
      TOLLGATE_DATA: this.#folders[0] as string,
    })
    return code === 0 ? undefined : output + errors
  }

  async stop(): Promise<void> {
    await Promise.all(this.gateways.map(gateway => gateway.terminate()))
    for (const folder of this.#folders) await rm(folder, { recursive: true, force: true })
  }

  get #environment(): Record<string, string> {
    return { DATABASE_URL: this.#options.url, TOLLGATE_SECRET: SECRET }
  }
}
