import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { VirtualBoard } from '../../../test/support/rate-board.ts'
import { Rates } from './rates.ts'

const WINDOW_MS = 60_000
const TICK_MS = 1_000
const SUBJECT = 'org_busy'

/** One node in virtual time. */
interface Node {
  readonly rates: Rates
  isAway: boolean
  /** Requests a second that come to it. */
  demand: number
}

/** Nodes that share one limit, and every admission of theirs. */
class VirtualFleet {
  readonly board = new VirtualBoard()
  readonly nodes: Node[] = []
  readonly admittedAtMs: number[] = []
  readonly limit: number
  /** Nodes that have ever been. */
  nodesSeen = 0
  readonly #owed = new Map<Node, number>()

  constructor(limit: number) {
    this.limit = limit
  }

  async join(siblings = 1): Promise<Node> {
    const rates = new Rates({
      board: this.board.viewFor(() => node.isAway),
      nodeId: `node_${this.nodesSeen}`,
      siblings,
      now: () => this.board.nowMs,
      onRefused: () => {},
      onError: () => {},
    })
    const node: Node = { rates, isAway: false, demand: 0 }
    await rates.join()
    this.nodes.push(node)
    this.nodesSeen += 1
    return node
  }

  /** Lets time pass, with every node asked as often as its demand says. */
  async run(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      for (let step = 0; step < 10; step++) {
        for (const node of this.nodes) this.#ask(node)
        this.board.nowMs += TICK_MS / 10
      }
      for (const { rates } of this.nodes) {
        rates.tick()
        await rates.confer().catch(() => {})
      }
    }
  }

  async leave(node: Node): Promise<void> {
    this.nodes.splice(this.nodes.indexOf(node), 1)
    await node.rates.leave().catch(() => {})
  }

  /** kill -9 */
  kill(node: Node): void {
    this.nodes.splice(this.nodes.indexOf(node), 1)
  }

  admittedBetween(fromMs: number, toMs: number): number {
    return this.admittedAtMs.filter(timeMs => timeMs >= fromMs && timeMs < toMs).length
  }

  /** The most that all nodes together let pass in any window. */
  get mostInAWindow(): number {
    let first = 0
    return this.admittedAtMs.reduce((most, timeMs, index) => {
      while ((this.admittedAtMs[first] as number) <= timeMs - WINDOW_MS) first += 1
      return Math.max(most, index - first + 1)
    }, 0)
  }

  #ask(node: Node): void {
    const owed = (this.#owed.get(node) ?? 0) + node.demand / 10
    for (let asked = 1; asked <= owed; asked++) {
      const { refused } = node.rates.decide([{ kind: 'organization', id: SUBJECT, limit: this.limit }])
      if (!refused) this.admittedAtMs.push(this.board.nowMs)
    }
    this.#owed.set(node, owed % 1)
  }
}

/** Nodes that have all been there for long. */
async function settledFleet(nodes: number, limit: number): Promise<VirtualFleet> {
  const fleet = new VirtualFleet(limit)
  for (let index = 0; index < nodes; index++) await fleet.join()
  await fleet.run(240)
  return fleet
}

function askSkewed({ nodes, limit }: VirtualFleet, load: number, parts: readonly number[]): void {
  for (const [index, part] of parts.entries()) {
    const node = nodes[index]
    if (node) node.demand = (limit / 60) * load * part
  }
}

describe('nodes that share a rate', () => {
  it('use nearly all of it together, and no more, when one of three has 90 of 100 requests', async () => {
    const fleet = await settledFleet(3, 1_000)
    askSkewed(fleet, 2, [0.9, 0.05, 0.05])
    const fromMs = fleet.board.nowMs
    await fleet.run(300)
    assert.ok(fleet.mostInAWindow <= fleet.limit, `${fleet.mostInAWindow}`)
    for (let second = 5; second <= 240; second++) {
      const used = fleet.admittedBetween(fromMs + second * 1_000, fromMs + second * 1_000 + WINDOW_MS)
      assert.ok(used >= fleet.limit * 0.9, `${used} from second ${second}`)
    }
  })

  it('leave those alone who ask for little', async () => {
    const fleet = await settledFleet(3, 1_000)
    askSkewed(fleet, 2, [0.9, 0.05, 0.05])
    await fleet.run(30)
    const [, light] = fleet.nodes
    const before = fleet.admittedAtMs.length
    for (const node of fleet.nodes) node.demand = node === light ? (fleet.limit / 60) * 0.1 : 0
    await fleet.run(30)
    assert.ok(fleet.admittedAtMs.length - before >= 49)
  })

  it('follow a demand that moves to another node', async () => {
    const fleet = await settledFleet(3, 600)
    askSkewed(fleet, 2, [1, 0, 0])
    await fleet.run(120)
    askSkewed(fleet, 2, [0, 1, 0])
    await fleet.run(90)
    const fromMs = fleet.board.nowMs
    await fleet.run(60)
    assert.ok(fleet.admittedBetween(fromMs, fleet.board.nowMs) >= fleet.limit * 0.9)
    assert.ok(fleet.mostInAWindow <= fleet.limit)
  })

  it('give a small limit to whoever is asked', async () => {
    const fleet = await settledFleet(3, 2)
    for (const node of fleet.nodes) {
      node.demand = 1
      const before = fleet.admittedAtMs.length
      await fleet.run(140)
      assert.ok(fleet.admittedAtMs.length > before)
      node.demand = 0
    }
    assert.ok(fleet.mostInAWindow <= 2)
  })

  it('go on for a minute with what they have when the database is away, then each with its equal part', async () => {
    const fleet = await settledFleet(3, 1_000)
    askSkewed(fleet, 2, [0.9, 0.05, 0.05])
    await fleet.run(120)
    for (const node of fleet.nodes) node.isAway = true
    const fromMs = fleet.board.nowMs
    await fleet.run(59)
    assert.ok(fleet.admittedBetween(fromMs, fleet.board.nowMs) >= fleet.limit * 0.85)
    for (const node of fleet.nodes) node.demand = fleet.limit / 10
    await fleet.run(240)
    const lastMinute = fleet.admittedBetween(fleet.board.nowMs - WINDOW_MS, fleet.board.nowMs)
    // A third each; the place of what remains is in doubt by now.
    assert.equal(lastMinute, 999)
    assert.ok(fleet.mostInAWindow <= fleet.limit, `${fleet.mostInAWindow}`)
  })

  it('let a new node begin at once, and have its equal part two minutes later', async () => {
    const fleet = await settledFleet(1, 900)
    askSkewed(fleet, 3, [1])
    await fleet.run(90)
    const second = await fleet.join()
    second.demand = 45
    const before = fleet.board.nowMs
    await fleet.run(10)
    assert.ok(fleet.admittedBetween(before, fleet.board.nowMs) > 0)
    await fleet.run(240)
    const [first] = fleet.nodes as [Node]
    first.demand = 0
    const fromMs = fleet.board.nowMs
    const soFar = fleet.admittedAtMs.length
    await fleet.run(60)
    assert.ok(fleet.admittedAtMs.length - soFar >= 440, `${fleet.admittedBetween(fromMs, fleet.board.nowMs)}`)
    assert.ok(fleet.mostInAWindow <= fleet.limit * 1.05, `${fleet.mostInAWindow}`)
  })

  it('give a new node its equal part within seconds where nobody is asked for much', async () => {
    const fleet = await settledFleet(1, 900)
    askSkewed(fleet, 0.3, [1])
    await fleet.run(90)
    const second = await fleet.join()
    await fleet.run(6)
    second.demand = 900
    const before = fleet.admittedAtMs.length
    await fleet.run(1)
    assert.ok(fleet.admittedAtMs.length - before >= 450)
    assert.ok(fleet.mostInAWindow <= fleet.limit)
  })

  it('share equally from the first moment when they start together', async () => {
    const fleet = new VirtualFleet(1_000)
    for (let index = 0; index < 4; index++) await fleet.join(4)
    for (const node of fleet.nodes) node.demand = 100
    await fleet.run(5)
    assert.equal(fleet.admittedAtMs.length, 1_000)
  })

  it('take over what a node leaves, once what it used counts no more', async () => {
    const fleet = await settledFleet(2, 600)
    for (const node of fleet.nodes) node.demand = 20
    await fleet.run(90)
    await fleet.leave(fleet.nodes[1] as Node)
    await fleet.run(150)
    const fromMs = fleet.board.nowMs
    await fleet.run(60)
    assert.equal(fleet.admittedBetween(fromMs, fleet.board.nowMs), 600)
    assert.ok(fleet.mostInAWindow <= 600)
  })

  it('take over what a killed node had, when it can no longer be serving', async () => {
    const fleet = await settledFleet(2, 600)
    for (const node of fleet.nodes) node.demand = 20
    await fleet.run(90)
    fleet.kill(fleet.nodes[1] as Node)
    await fleet.run(400)
    const fromMs = fleet.board.nowMs
    await fleet.run(60)
    assert.equal(fleet.admittedBetween(fromMs, fleet.board.nowMs), 600)
    assert.ok(fleet.mostInAWindow <= 600)
  })

  it('never let more than the limit pass, whoever joins, leaves, dies, is cut off, or is asked how much', async () => {
    const event = fc.record({
      kind: fc.constantFrom('join', 'leave', 'kill', 'cut off', 'back', 'demand', 'all away', 'all back'),
      node: fc.nat(9),
      demand: fc.integer({ min: 0, max: 40 }),
      seconds: fc.integer({ min: 1, max: 100 }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 20, max: 300 }),
        fc.array(event, { minLength: 1, maxLength: 12 }),
        async (nodes, limit, events) => {
          const fleet = await settledFleet(nodes, limit)
          for (const node of fleet.nodes) node.demand = limit / 20
          for (const { kind, node: index, demand, seconds } of events) {
            const node = fleet.nodes[index % Math.max(1, fleet.nodes.length)]
            if (kind === 'join') (await fleet.join()).demand = demand
            else if (kind === 'all away') for (const each of fleet.nodes) each.isAway = true
            else if (kind === 'all back') for (const each of fleet.nodes) each.isAway = false
            else if (!node) continue
            else if (kind === 'leave') await fleet.leave(node)
            else if (kind === 'kill') fleet.kill(node)
            else if (kind === 'cut off') node.isAway = true
            else if (kind === 'back') node.isAway = false
            else node.demand = demand
            await fleet.run(seconds)
            // A node that was cut off for as long as it could not have authenticated anyone would be no node any more.
            for (const each of fleet.nodes) each.isAway &&= seconds < 50
          }
          // Nodes that have no part yet may use 5 of 100 together, and each of them one request.
          const most = limit * 1.05 + fleet.nodesSeen
          assert.ok(fleet.mostInAWindow <= most, `${fleet.mostInAWindow} of ${limit}, ${fleet.nodesSeen} nodes`)
        },
      ),
      { numRuns: 60 },
    )
  })
})
