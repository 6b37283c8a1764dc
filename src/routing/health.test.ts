import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Channel, Credential } from '#catalog/catalog.ts'
import { type Candidate, candidatesOf } from './candidate.ts'
import { Health } from './health.ts'
import type { Symptom } from './symptom.ts'

/** Two keys of one channel, at a clock that stands until it is moved. */
class Rig {
  nowMs = 1_000
  isEjecting = true
  readonly told: string[] = []
  readonly health = new Health({
    nowMs: () => this.nowMs,
    isEjecting: () => this.isEjecting,
    observer: {
      attempted: (_candidate, outcome) => this.told.push(outcome),
      credentialDisabled: ({ credential }) => this.told.push(`disabled ${credential.id}`),
      credentialRestored: ({ credential }) => this.told.push(`restored ${credential.id}`),
    },
  })
  readonly first: Candidate
  readonly second: Candidate

  constructor(limits: Partial<Credential> = {}) {
    const credentials = ['1', '2'].map(id => ({ id, key: id, weight: 1, ...limits }))
    const channel = { id: 'c', tier: 'official', credentials } as unknown as Channel
    const [first, second] = candidatesOf([
      { channel, upstreamModel: 'm', price: { version: '', rates: {} }, weight: 1 } as Candidate['offer'],
    ])
    this.first = first as Candidate
    this.second = second as Candidate
  }

  fail(candidate: Candidate, symptom: Symptom, retryAfterMs?: number): void {
    using attempt = this.health.begin(candidate)
    attempt.failed(symptom, retryAfterMs)
  }

  succeed(candidate: Candidate): void {
    using attempt = this.health.begin(candidate)
    attempt.answered(100)
  }

  /** How long each key is out. */
  get out(): number[] {
    return [this.first, this.second].map(each => this.health.readyAtMs(each, this.nowMs) - this.nowMs)
  }
}

describe('what is known of a channel', () => {
  it('a limited account rests as long as the upstream asked, and no other', () => {
    const rig = new Rig()
    rig.fail(rig.first, 'limited', 9_000)
    assert.deepEqual(rig.out, [9_000, 0])
    rig.nowMs += 8_999
    assert.deepEqual(rig.out, [1, 0])
    rig.nowMs += 1
    assert.deepEqual(rig.out, [0, 0])
  })

  it('a limited account that was not told for how long rests for a second', () => {
    const rig = new Rig()
    rig.fail(rig.first, 'limited')
    assert.deepEqual(rig.out, [1_000, 0])
  })

  it('nobody rests for more than five minutes', () => {
    const rig = new Rig()
    rig.fail(rig.first, 'limited', 24 * 3_600_000)
    assert.deepEqual(rig.out, [300_000, 0])
  })

  it('a busy upstream rests with all its accounts', () => {
    const rig = new Rig()
    rig.fail(rig.first, 'busy', 4_000)
    assert.deepEqual(rig.out, [4_000, 4_000])
  })

  it('five failures in a row are out with all accounts, for five seconds', () => {
    const rig = new Rig()
    for (let i = 0; i < 5; i++) rig.fail(rig.first, i % 2 ? 'down' : 'slow')
    assert.deepEqual(rig.out, [5_000, 5_000])
    assert.deepEqual(rig.health.breakers(), [{ channel: 'c', model: 'm', state: 'open' }])
  })

  it('a refused key is disabled at once, tried after a minute, and restored by a success', () => {
    const rig = new Rig()
    rig.fail(rig.first, 'refused')
    assert.deepEqual(rig.out, [60_000, 0])
    rig.nowMs += 60_000
    rig.fail(rig.first, 'refused')
    assert.deepEqual(rig.out, [120_000, 0])
    rig.nowMs += 120_000
    rig.succeed(rig.first)
    assert.deepEqual(rig.out, [0, 0])
    assert.deepEqual(
      rig.told.filter(word => word.includes(' ')),
      ['disabled 1', 'restored 1'],
    )
  })

  it('a key is disabled by what is forbidden only when that happens again and again', () => {
    const rig = new Rig()
    rig.fail(rig.first, 'forbidden')
    rig.fail(rig.first, 'forbidden')
    rig.succeed(rig.first)
    rig.fail(rig.first, 'forbidden')
    rig.fail(rig.first, 'forbidden')
    assert.deepEqual(rig.out, [0, 0])
    rig.fail(rig.first, 'forbidden')
    assert.deepEqual(rig.out, [60_000, 0])
  })

  it('attempts without a verdict change nothing', () => {
    const rig = new Rig()
    for (let i = 0; i < 50; i++) rig.health.begin(rig.first)[Symbol.dispose]()
    assert.deepEqual(rig.out, [0, 0])
    assert.ok(rig.told.every(word => word === 'dropped'))
  })

  it('nothing is out where nothing is ejected, but for the limits that the operator set', () => {
    const rig = new Rig({ concurrency: 1 })
    rig.isEjecting = false
    for (let i = 0; i < 9; i++) rig.fail(rig.first, 'down')
    rig.fail(rig.first, 'refused')
    rig.fail(rig.first, 'limited', 9_000)
    assert.deepEqual(rig.out, [0, 0])
    using _underWay = rig.health.begin(rig.first)
    assert.deepEqual(rig.out, [1_000, 0])
  })

  it('a key has no more requests a minute than it may', () => {
    const rig = new Rig({ requestsPerMinute: 3 })
    for (let i = 0; i < 3; i++) rig.succeed(rig.first)
    assert.deepEqual(rig.out, [1_000, 0])
    rig.nowMs += 60_000
    assert.deepEqual(rig.out, [0, 0])
  })

  it('the last resort is probed once a second, but never what asked to be left alone', () => {
    const rig = new Rig()
    const lastResort = () => rig.health.lastResort([rig.first, rig.second], rig.nowMs)
    for (let i = 0; i < 5; i++) rig.fail(rig.first, 'down')
    assert.equal(lastResort(), undefined)
    rig.nowMs += 1_000
    assert.equal(lastResort(), rig.first)
    {
      using _probe = rig.health.begin(rig.first)
      rig.nowMs += 2_000
      assert.equal(lastResort(), undefined, 'it is under way')
    }
    rig.fail(rig.first, 'busy', 9_000)
    rig.nowMs += 2_000
    assert.equal(lastResort(), undefined)
  })
})
