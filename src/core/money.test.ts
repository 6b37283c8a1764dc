import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  canonicalDecimal,
  divideHalfEven,
  formatDecimal,
  formatUsd,
  parseDecimal,
  parseUsd,
  withoutExponent,
} from './money.ts'

const TRILLION = 10n ** 12n
const LARGEST = 10n ** 38n - 1n

const amount = fc.bigInt({ min: -LARGEST, max: LARGEST })
const places = fc.nat({ max: 18 })

describe('parseDecimal', () => {
  it('reads a decimal as a count of its smallest unit', () => {
    assert.equal(parseDecimal('0.25', 3), 250n)
    assert.equal(parseDecimal('-12.5', 1), -125n)
    assert.equal(parseDecimal('007', 0), 7n)
    assert.equal(parseDecimal('1.500000000000000', 1), 15n)
    assert.equal(parseDecimal('-0', 2), 0n)
  })

  it('refuses what is no plain decimal', () => {
    for (const text of ['', '.5', '5.', '1e3', '+1', '1,5', ' 1', '1\n', '0x10', 'NaN', '--1', '1.2.3', '١']) {
      assert.throws(() => parseDecimal(text, 12), RangeError, JSON.stringify(text))
    }
  })

  it('refuses more digits than fit rather than round them', () => {
    assert.throws(() => parseDecimal('0.125', 2), /more than 2 digits/)
    assert.throws(() => parseDecimal('1'.padEnd(27, '0'), 2), /too large/)
    assert.equal(parseDecimal(`000${'9'.repeat(26)}`, 0), 10n ** 26n - 1n)
  })

  it('undoes formatDecimal', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n - 10n ** 26n, max: 10n ** 26n - 1n }), places, (value, digits) => {
        assert.equal(parseDecimal(formatDecimal(value, digits), digits), value)
      }),
    )
  })
})

describe('formatDecimal', () => {
  it('writes the one canonical form: no exponent, no needless zeros, no negative zero', () => {
    assert.equal(formatDecimal(1_500n, 3), '1.5')
    assert.equal(formatDecimal(-5n, 3), '-0.005')
    assert.equal(formatDecimal(7_000n, 3), '7')
    assert.equal(formatDecimal(0n, 3), '0')
    assert.equal(formatDecimal(-42n, 0), '-42')
  })

  it('writes every amount so that its digits, shifted, are the amount', () => {
    fc.assert(
      fc.property(amount, places, (value, digits) => {
        const text = formatDecimal(value, digits)
        assert.match(text, /^(0|-?[1-9]\d*|-?(0|[1-9]\d*)\.\d*[1-9])$/)
        const [integer = '', fraction = ''] = text.split('.')
        assert.equal(BigInt(integer + fraction.padEnd(digits, '0')), value)
      }),
    )
  })
})

describe('US dollars', () => {
  it('are counted in picodollars', () => {
    assert.equal(parseUsd('1.5'), 1_500_000_000_000n)
    assert.equal(parseUsd('0.000000000001'), 1n)
    assert.equal(formatUsd(1_000_000n), '0.000001')
  })

  it('survive being written and read, to the last digit', () => {
    fc.assert(fc.property(amount, value => assert.equal(parseUsd(formatUsd(value)), value)))
  })
})

describe('canonicalDecimal', () => {
  it('is what formatUsd would write of a number as Postgres prints it', () => {
    fc.assert(
      fc.property(amount, value => {
        const magnitude = value < 0n ? -value : value
        const fraction = (magnitude % TRILLION).toString().padStart(12, '0')
        const printed = `${value < 0n ? '-' : ''}${magnitude / TRILLION}.${fraction}`
        assert.equal(canonicalDecimal(printed), formatUsd(value))
      }),
    )
  })

  it('leaves whole numbers alone', () => {
    for (const text of ['0', '100', '-20']) assert.equal(canonicalDecimal(text), text)
  })
})

describe('divideHalfEven', () => {
  it('rounds ties to the even neighbour', () => {
    assert.deepEqual(
      [1n, 3n, 5n, 7n, -1n, -3n, -5n].map(numerator => divideHalfEven(numerator, 2n)),
      [0n, 2n, 2n, 4n, 0n, -2n, -2n],
    )
  })

  it('gives the nearest integer, and of two that are as near the even one', () => {
    const numerator = fc.oneof(amount, fc.bigInt({ min: -100n, max: 100n }))
    const denominator = fc.oneof(
      fc.bigInt({ min: 1n, max: 10n ** 20n }),
      fc.bigInt({ min: 1n, max: 12n }),
      fc.constant(TRILLION),
    )
    fc.assert(
      fc.property(numerator, denominator, (n, d) => {
        // Of all integers near n/d, chosen by their distance from it in units of 1/d.
        const around = n / d
        const distance = (integer: bigint) => (integer * d > n ? integer * d - n : n - integer * d)
        const candidates = [around - 1n, around, around + 1n]
        const [least] = candidates.map(distance).sort((a, b) => (a < b ? -1 : 1))
        const nearest = candidates.filter(each => distance(each) === least)
        const expected = nearest.length === 1 ? nearest[0] : nearest.find(each => each % 2n === 0n)
        assert.equal(divideHalfEven(n, d), expected)
      }),
      { numRuns: 500 },
    )
  })

  it('refuses a denominator that is not positive', () => {
    for (const denominator of [0n, -1n]) assert.throws(() => divideHalfEven(1n, denominator), RangeError)
  })
})

describe('withoutExponent', () => {
  it('moves the point and leaves every digit', () => {
    const cases: [json: string, plain: string][] = [
      ['1e-12', '0.000000000001'],
      ['1.5e-7', '0.00000015'],
      ['12.5E+1', '125'],
      ['12.5e0', '12.5'],
      ['-3e2', '-300'],
      ['0e5', '000000'],
      ['1.5', '1.5'],
      ['ten', 'ten'],
      ['1e9999', '1e9999'],
    ]
    for (const [json, plain] of cases) assert.equal(withoutExponent(json), plain, json)
  })

  it('is the same number, whatever the exponent', () => {
    const digits = fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n })
    fc.assert(
      fc.property(digits, fc.integer({ min: -12, max: 12 }), (value, exponent) => {
        const plain = withoutExponent(`${value}e${exponent}`)
        assert.equal(parseDecimal(plain, 12), value * 10n ** BigInt(12 + exponent))
      }),
    )
  })
})
