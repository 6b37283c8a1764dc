import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Channel, Offer } from '#catalog/catalog.ts'
import type { DeliveryTier } from '#core/delivery.ts'
import { type Candidate, candidatesOf } from './candidate.ts'
import { choose } from './choose.ts'
import { capableOf, deliveringAs, missingFrom, roomyFor } from './eligible.ts'
import { STRATEGIES } from './policy.ts'
import { preferenceOf } from './preference.ts'
import { drawFor } from './sticky.ts'

interface Fields {
  readonly tier?: DeliveryTier
  readonly weight?: number
  readonly keys?: readonly number[]
  readonly capabilities?: readonly string[]
  readonly contextLength?: number
}

function offer(id: string, { tier = 'official', weight, keys = [1], capabilities, contextLength }: Fields = {}): Offer {
  const credentials = keys.map((share, i) => ({
    id: String(i + 1),
    key: `${id}-${i + 1}`,
    weight: share,
    requestsPerMinute: undefined,
    concurrency: undefined,
  }))
  return {
    channel: { id, tier, credentials } as unknown as Channel,
    upstreamModel: 'm',
    price: { version: id, rates: {}, tiers: [], book: undefined },
    priceOrigin: 'offer',
    weight,
    capabilities: capabilities && new Set(capabilities),
    contextLength,
  }
}

const WELL = { readyAtMs: (_candidate: Candidate, nowMs: number) => nowMs, lastResort: () => undefined }

/** Who is out, and until when. */
function healthOf(out: Readonly<Record<string, number>>, lastResort?: string) {
  return {
    readyAtMs: ({ offer: { channel } }: Candidate) => out[channel.id] ?? 0,
    lastResort: (candidates: readonly Candidate[]) =>
      candidates.find(({ offer: { channel } }) => channel.id === lastResort),
  }
}

type Chosen = Partial<Parameters<typeof choose>[0]>

function chosen(offers: readonly Offer[], fields: Chosen = {}) {
  const { order, readyAtMs } = choose({
    candidates: candidatesOf(offers),
    health: WELL,
    nowMs: 0,
    preference: ({ place }) => place,
    draw: Math.random,
    ...fields,
  })
  return { order: order.map(({ offer: { channel }, credential }) => `${channel.id}${credential.id}`), readyAtMs }
}

function shares(offers: readonly Offer[], draws = 20_000): Record<string, number> {
  const counts: Record<string, number> = {}
  for (let i = 0; i < draws; i++) {
    const [first = ''] = chosen(offers).order
    counts[first] = (counts[first] ?? 0) + 1
  }
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count / draws]))
}

function near(actual: number | undefined, expected: number): void {
  assert.ok(Math.abs((actual ?? 0) - expected) < 0.02, `${actual} is not ${expected}`)
}

describe('the order in which a model is asked for', () => {
  it('is that of the list, where nobody has a weight', () => {
    assert.deepEqual(chosen([offer('a'), offer('b'), offer('c')]).order, ['a1', 'b1', 'c1'])
  })

  it('begins with what is verified', () => {
    assert.deepEqual(chosen([offer('a'), offer('b', { tier: 'verified' })]).order, ['b1', 'a1'])
  })

  it('begins with what the caller brought', () => {
    const candidates = [
      ...candidatesOf([offer('a', { tier: 'verified', weight: 9 })]),
      ...candidatesOf([offer('own')], { isPrivate: true }),
    ]
    assert.deepEqual(chosen([], { candidates }).order, ['own1', 'a1'])
  })

  it('shares by weight, before those without one', () => {
    const offers = [offer('spare'), offer('a', { weight: 3 }), offer('b', { weight: 1 })]
    const { a1, b1, spare1 } = shares(offers)
    near(a1, 0.75)
    near(b1, 0.25)
    assert.equal(spare1, undefined)
    assert.equal(chosen(offers).order.at(-1), 'spare1')
  })

  it('shares among the keys of a channel by their weights, within the share of the channel', () => {
    const found = shares([offer('a', { weight: 1, keys: [3, 1] }), offer('b', { weight: 1 })])
    near(found.a1, 0.375)
    near(found.a2, 0.125)
    near(found.b1, 0.5)
  })

  it('leaves out who is out, and nobody else', () => {
    const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1 })
    fc.assert(
      fc.property(
        names,
        fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.integer({ min: 1, max: 99 })),
        (all, out) => {
          const { order } = chosen(
            all.map(name => offer(name, { weight: 1 })),
            { health: healthOf(out) },
          )
          assert.deepEqual(
            order.toSorted(),
            all
              .filter(name => !(name in out))
              .map(name => `${name}1`)
              .toSorted(),
          )
        },
      ),
    )
  })

  it('is empty where all are out, and says when the first comes back', () => {
    assert.deepEqual(chosen([offer('a'), offer('b')], { health: healthOf({ a: 7_000, b: 3_000 }) }), {
      order: [],
      readyAtMs: 3_000,
    })
  })

  it('keeps one to be probed where all are out', () => {
    assert.deepEqual(chosen([offer('a'), offer('b')], { health: healthOf({ a: 7, b: 3 }, 'b') }).order, ['b1'])
  })
})

describe('a strategy', () => {
  const order = (strategy: (typeof STRATEGIES)[number], latencies: Record<string, number> = {}, isSticky = false) => {
    const preference = preferenceOf(strategy, {
      health: { latencyMs: ({ offer: { channel } }) => latencies[channel.id] },
      nowMs: 0,
      costOf: ({ offer: { channel } }) => ({ a: 3, b: 1, c: 2 })[channel.id] ?? 0,
      isSticky,
    })
    return chosen([offer('a'), offer('b'), offer('c')], { preference, draw: () => 0.5 }).order
  }

  it('puts the cheapest first', () => {
    assert.deepEqual(order('cheapest'), ['b1', 'c1', 'a1'])
  })

  it('puts the fastest first, after those of whom nobody knows', () => {
    assert.deepEqual(order('fastest', { a: 900, b: 5_000, c: 100 }), ['c1', 'a1', 'b1'])
    assert.deepEqual(order('fastest', { a: 900, c: 100 }), ['b1', 'c1', 'a1'])
  })

  it('does not tell apart what is nearly as fast, nor move a conversation for it', () => {
    assert.deepEqual(order('fastest', { a: 101, b: 100, c: 102 }), ['a1', 'b1', 'c1'])
    assert.deepEqual(order('fastest', { a: 9_000, b: 1, c: 2 }, true), ['a1', 'b1', 'c1'])
  })

  it('keeps to the tiers, whichever it is', () => {
    for (const strategy of STRATEGIES) {
      const preference = preferenceOf(strategy, {
        health: { latencyMs: ({ offer: { channel } }) => (channel.id === 'slow' ? 9_000 : 1) },
        nowMs: 0,
        costOf: ({ offer: { channel } }) => (channel.id === 'slow' ? 9_000 : 1),
        isSticky: false,
      })
      const offers = [offer('quick'), offer('slow', { tier: 'verified' })]
      assert.deepEqual(chosen(offers, { preference }).order, ['slow1', 'quick1'])
    }
  })
})

describe('a conversation', () => {
  const model = { id: 'm', capabilities: [] } as unknown as Parameters<typeof drawFor>[1]
  const traits = (conversation: string) => ({
    needs: [],
    conversation: () => conversation,
    isCacheable: true,
    isSealed: false,
  })
  const offers = ['a', 'b', 'c', 'd'].map(name => offer(name, { weight: 1, keys: [1, 1] }))
  const orderOf = (conversation: string, fields: Chosen = {}, scope = 'ws') =>
    chosen(offers, { draw: drawFor(scope, model, traits(conversation)), ...fields }).order

  it('stays where it is', () => {
    assert.deepEqual(orderOf('hello'), orderOf('hello'))
  })

  it('moves only when its own key is out, and comes back', () => {
    for (let i = 0; i < 200; i++) {
      const [first = '', second] = orderOf(`c${i}`)
      const channel = first.slice(0, 1)
      const without = orderOf(`c${i}`, { health: healthOf({ [channel]: 9 }) })
      assert.equal(
        without[0],
        orderOf(`c${i}`).find(name => !name.startsWith(channel)),
      )
      const other = ['a', 'b', 'c', 'd'].find(name => name !== channel && !second?.startsWith(name)) ?? ''
      assert.equal(orderOf(`c${i}`, { health: healthOf({ [other]: 9 }) })[0], first)
    }
  })

  it('is spread over all keys by their weights, and differs between tenants', () => {
    const counts = Map.groupBy(
      Array.from({ length: 8_000 }, (_, i) => orderOf(`c${i}`)[0]),
      name => name ?? '',
    )
    for (const found of counts.values()) near(found.length / 8_000, 1 / 8)
    const differing = Array.from({ length: 100 }, (_, i) => orderOf(`c${i}`)[0] !== orderOf(`c${i}`, {}, 'other')[0])
    assert.ok(differing.filter(Boolean).length > 50)
  })
})

describe('who could serve a request', () => {
  const [official, verified] = candidatesOf([offer('a'), offer('b', { tier: 'verified' })])
  const [own] = candidatesOf([offer('own')], { isPrivate: true })
  const all = [official, verified, own] as Candidate[]

  it('is what the delivery policy says, but for what the caller brought', () => {
    assert.deepEqual(deliveringAs('auto', all), all)
    assert.deepEqual(deliveringAs('verified', all), [verified, own])
    assert.deepEqual(deliveringAs('official', all), [official, own])
  })

  it('is who can do it, or of whom nobody said', () => {
    const candidates = candidatesOf([
      offer('deaf', { capabilities: [] }),
      offer('unknown'),
      offer('able', { capabilities: ['tools', 'vision'] }),
    ])
    const names = (needs: Parameters<typeof capableOf>[0]) =>
      capableOf(needs, candidates).map(({ offer: { channel } }) => channel.id)
    assert.deepEqual(names([]), ['deaf', 'unknown', 'able'])
    assert.deepEqual(names(['tools']), ['unknown', 'able'])
    assert.deepEqual(names(['tools', 'audio']), ['unknown'])
  })

  it('is said to be nobody by what they lack', () => {
    const candidates = candidatesOf([
      offer('sees', { capabilities: ['vision'] }),
      offer('works', { capabilities: ['tools'] }),
    ])
    assert.deepEqual(missingFrom(['tools', 'audio'], candidates), ['audio'])
    assert.deepEqual(missingFrom(['tools', 'vision'], candidates), ['tools', 'vision'])
  })

  it('is who has room for the context, unless that is nobody', () => {
    const candidates = candidatesOf([offer('short', { contextLength: 10 }), offer('long', { contextLength: 100 })])
    const names = (tokens: number) => roomyFor(tokens, candidates).map(({ offer: { channel } }) => channel.id)
    assert.deepEqual([names(5), names(50), names(500)], [['short', 'long'], ['long'], ['short', 'long']])
  })
})
