import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { definitionOf, isFree, parsePrice, RATE_NAMES, ratesFor, readableRates, TOKEN_RATES } from './price.ts'

/** Rates are counted in this many parts of a dollar. */
const DOLLAR = 10n ** 20n

describe('parsePrice', () => {
  it('turns a price into 10⁻²⁰ dollars for one token or one request', () => {
    const { rates } = parsePrice({ input: '0.25', output: '2.00', request: '0.01', per: '1M' })
    assert.deepEqual(rates, { input: DOLLAR / 4_000_000n, output: (2n * DOLLAR) / 1_000_000n, request: DOLLAR / 100n })
  })

  it('is for a million tokens unless it says otherwise', () => {
    assert.deepEqual(parsePrice({ input: '3' }), parsePrice({ input: '3', per: '1M' }))
    assert.deepEqual(parsePrice({ input: '3' }).rates, parsePrice({ input: '0.003', per: '1K' }).rates)
    assert.deepEqual(parsePrice({ input: '3' }).rates, parsePrice({ input: '0.000003', per: 1 }).rates)
  })

  it('is exact to the last digit that it takes, and refuses more', () => {
    assert.equal(parsePrice({ input: '0.000000000001' }).rates.input, 100n)
    assert.throws(() => parsePrice({ input: '0.0000000000001' }), /more than 12 digits/)
    assert.throws(() => parsePrice({ input: '0.0000000000000001', per: '1K' }), /more than 15 digits/)
    assert.equal(parsePrice({ request: '0.000000000000000001' }).rates.request, 100n)
  })

  it('tells a price of zero from none', () => {
    assert.deepEqual(parsePrice({ input: '0' }).rates, { input: 0n })
    assert.notEqual(parsePrice({ input: '0' }).version, parsePrice({}).version)
  })

  const decimal = fc.nat({ max: 30 }).map(value => String(value / 10))
  const rates = (names: readonly string[]) =>
    fc.record(Object.fromEntries(names.map(name => [name, decimal])), { requiredKeys: [] })
  const tier = fc.tuple(fc.integer({ min: 1, max: 3 }), rates(TOKEN_RATES.slice(0, 2)))
  const config = fc
    .tuple(rates(RATE_NAMES), fc.array(tier, { maxLength: 2 }))
    .map(([base, tiers]) => ({ ...base, tiers: tiers.map(([above, each]) => ({ above, ...each })) }))

  it('has a version that names exactly this set of rates and tiers, however it was written', () => {
    fc.assert(
      fc.property(config, config, (a, b) => {
        const [{ version, ...first }, { version: other, ...second }] = [parsePrice(a), parsePrice(b)]
        assert.equal(version === other, isDeepStrictEqual(first, second))
      }),
      { numRuns: 1000 },
    )
    assert.equal(parsePrice({ input: '1.50' }).version, parsePrice({ input: '0.0015', per: '1K' }).version)
    assert.match(parsePrice({ input: '1' }).version, /^pv_[0-9a-f]{16}$/)
  })

  it('has another version when it comes from the book, and from another edition of it', () => {
    const from = (edition: string) => parsePrice({ input: '1' }, { edition, entry: 'a/b' }).version
    assert.equal(new Set([from('book 1'), from('book 2'), parsePrice({ input: '1' }).version]).size, 3)
  })

  it('has a definition that says everything and can be checked against the version', () => {
    const price = parsePrice(
      { input: '0.25', second: '0.0001', tiers: [{ above: 200_000, input: '0.5' }] },
      { edition: 'book 1', entry: 'a/b' },
    )
    const text = definitionOf(price)
    assert.deepEqual(JSON.parse(text), {
      book: { edition: 'book 1', entry: 'a/b' },
      rates: { input: '0.00000025', second: '0.0001' },
      tiers: [{ above: 200_000, rates: { input: '0.0000005' } }],
    })
    assert.equal(`pv_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`, price.version)
  })
})

describe('ratesFor', () => {
  const price = parsePrice({
    input: '1',
    tiers: [
      { above: 100, input: '2' },
      { above: 200, input: '3' },
    ],
    per: 1,
  })

  it('is the tier that so much input falls into; a tier begins above its bound', () => {
    assert.deepEqual(
      [0, 100, 101, 200, 201, 10_000].map(tokens => (ratesFor(price, tokens).input ?? 0n) / DOLLAR),
      [1n, 1n, 2n, 2n, 3n, 3n],
    )
  })
})

describe('isFree', () => {
  it('looks into the tiers too', () => {
    assert.equal(isFree(parsePrice({ input: '0', output: '0' })), true)
    assert.equal(isFree(parsePrice({ input: '0', tiers: [{ above: 9, input: '1' }] })), false)
    assert.equal(isFree(parsePrice({ second: '1' })), false)
  })
})

describe('readableRates', () => {
  it('are what people write: tokens by the million, the rest by one', () => {
    const { rates } = parsePrice({ input: '0.00000025', output: '0.000002', image: '0.04', per: 1 })
    assert.deepEqual(readableRates(rates), { input: '0.25', output: '2', image: '0.04' })
  })
})
