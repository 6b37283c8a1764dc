import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parsePrice, RATE_NAMES } from './price.ts'

const DOLLAR = 10n ** 18n

describe('parsePrice', () => {
  it('turns a price into attodollars for one token or one request', () => {
    const { rates } = parsePrice({ input: '0.25', output: '2.00', request: '0.01', per: '1M' })
    assert.deepEqual(rates, { input: DOLLAR / 4_000_000n, output: (2n * DOLLAR) / 1_000_000n, request: DOLLAR / 100n })
  })

  it('is for a million tokens unless it says otherwise', () => {
    assert.deepEqual(parsePrice({ input: '3' }), parsePrice({ input: '3', per: '1M' }))
    assert.deepEqual(parsePrice({ input: '3' }).rates, parsePrice({ input: '0.003', per: '1K' }).rates)
    assert.deepEqual(parsePrice({ input: '3' }).rates, parsePrice({ input: '0.000003', per: 1 }).rates)
  })

  it('is exact to the last digit that it takes, and refuses more', () => {
    assert.equal(parsePrice({ input: '0.000000000001' }).rates.input, 1n)
    assert.throws(() => parsePrice({ input: '0.0000000000001' }), /more than 12 digits/)
    assert.throws(() => parsePrice({ input: '0.0000000000000001', per: '1K' }), /more than 15 digits/)
    assert.equal(parsePrice({ request: '0.000000000000000001' }).rates.request, 1n)
  })

  it('tells a price of zero from none', () => {
    assert.deepEqual(parsePrice({ input: '0' }).rates, { input: 0n })
    assert.notEqual(parsePrice({ input: '0' }).version, parsePrice({}).version)
  })

  it('has a version that names exactly this set of rates, however it was written', () => {
    const decimal = fc.nat({ max: 30 }).map(value => String(value / 10))
    const config = fc.record(Object.fromEntries(RATE_NAMES.map(name => [name, decimal])), { requiredKeys: [] })
    fc.assert(
      fc.property(config, config, (a, b) => {
        const [first, second] = [parsePrice(a), parsePrice(b)]
        const isSame = RATE_NAMES.every(name => first.rates[name] === second.rates[name])
        assert.equal(first.version === second.version, isSame)
      }),
    )
    assert.equal(parsePrice({ input: '1.50' }).version, parsePrice({ input: '0.0015', per: '1K' }).version)
    assert.match(parsePrice({ input: '1' }).version, /^pv_[0-9a-f]{16}$/)
  })
})
