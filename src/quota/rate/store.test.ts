import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { newId } from '#lib/ids.ts'
import type { Database } from '#storage/database.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { Rates } from './rates.ts'
import { rateBoard } from './store.ts'

/** A minute of six seconds. */
const WINDOW_MS = 6_000
const TICK_MS = WINDOW_MS / 60
const LIMIT = 900
const SUBJECT = { kind: 'organization', id: 'org_busy', limit: LIMIT } as const

describe('rates shared over Postgres', () => {
  let testDatabase: TestDatabase
  let database: Database
  const running = new Set<Rates>()

  before(async () => {
    testDatabase = await createTestDatabase()
    database = testDatabase.open()
  })

  after(async () => {
    for (const rates of running) await rates.stop()
    await testDatabase.drop()
  })

  async function startNode(): Promise<Rates> {
    const rates = new Rates({
      board: rateBoard(database),
      nodeId: newId('node'),
      siblings: 1,
      windowMs: WINDOW_MS,
      onRefused: () => {},
      onError: error => assert.fail(error as Error),
    })
    running.add(rates)
    await rates.start()
    return rates
  }

  const parts = async (): Promise<(number | null)[]> => {
    const { rows } = await sql<{ divisor: number | null }>`select divisor from rate_nodes`.execute(database)
    return rows.map(({ divisor }) => divisor)
  }

  const areThirds = async () => ((await parts()).every(divisor => divisor === 3) ? true : undefined)

  it('are used to nine tenths and never beyond, when one of three nodes has 90 of 100 requests', async () => {
    const nodes = [await startNode(), await startNode(), await startNode()]
    await eventually('a third for each', areThirds)
    const demand = [0.9, 0.05, 0.05].map(part => (part * 2 * LIMIT) / WINDOW_MS)
    const admittedAtMs: number[] = []
    const startedAtMs = performance.now()
    let askedUntilMs = startedAtMs
    const owed = [0, 0, 0]
    while (askedUntilMs < startedAtMs + 2.5 * WINDOW_MS) {
      await sleep(5)
      const nowMs = performance.now()
      for (const [index, rates] of nodes.entries()) {
        owed[index] = (owed[index] as number) + (demand[index] as number) * (nowMs - askedUntilMs)
        for (; (owed[index] as number) >= 1; owed[index] = (owed[index] as number) - 1) {
          if (!rates.decide([SUBJECT]).refused) admittedAtMs.push(performance.now())
        }
      }
      askedUntilMs = nowMs
    }
    const most = Math.max(...admittedAtMs.map(toMs => countIn(admittedAtMs, toMs - WINDOW_MS, toMs)))
    assert.ok(most <= LIMIT, `${most} in a window`)
    for (let ticks = 5; ticks <= 85; ticks += 10) {
      const fromMs = startedAtMs + ticks * TICK_MS
      const used = countIn(admittedAtMs, fromMs, fromMs + WINDOW_MS)
      assert.ok(used >= 0.9 * LIMIT, `${used} in the window from tick ${ticks}`)
    }
  })

  it('leave no row of subjects that are asked for little', async () => {
    const [rates] = [...running] as [Rates]
    for (let index = 0; index < 100; index++) rates.decide([{ kind: 'key', id: `key_${index}`, limit: LIMIT }])
    for (let asked = 0; asked < 2 * LIMIT; asked++) rates.decide([{ kind: 'key', id: 'key_flood', limit: LIMIT }])
    const stated = await eventually('what is needed of the flooded one', async () => {
      const { rows } = await sql<{ subject: string }>`
        select subject from rate_needs where subject like 'key_%'
      `.execute(database)
      return rows.length > 0 ? rows.map(({ subject }) => subject) : undefined
    })
    assert.deepEqual(stated, ['key_flood'])
  })

  it('are taken over from a node that has left', async () => {
    const [first, ...others] = running
    for (const rates of others) {
      await rates.leave()
      running.delete(rates)
    }
    await eventually('all for the last node', async () => ((await parts()).join() === '1' ? true : undefined), 30_000)
    assert.equal(first?.decide([{ kind: 'key', id: 'key_new', limit: 5 }]).standing.remaining, 4)
  })

  it('are given back to a lender that starts again only when its loan is over', async () => {
    const board = rateBoard(database)
    const { databaseMs } = await board.consult('node_lender', [], 0)
    const loan = { subject: 'key_lent', borrower: 'node_other', slots: 7, endsAtDatabaseMs: databaseMs + 60_000 }
    await board.move('node_lender', [loan], [])
    const lender = new Rates({
      board,
      nodeId: 'node_lender',
      siblings: 1,
      onRefused: () => {},
      onError: () => {},
    })
    // Whatever its part is: seven of it are another's.
    await lender.join()
    const whole = lender.decide([{ kind: 'key', id: 'key_other', limit: 1_000 }]).standing.remaining
    const rest = lender.decide([{ kind: 'key', id: 'key_lent', limit: 1_000 }]).standing.remaining
    assert.equal(whole - rest, 7)
  })
})

function countIn(timesMs: readonly number[], fromMs: number, toMs: number): number {
  return timesMs.filter(timeMs => timeMs > fromMs && timeMs <= toMs).length
}
