import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { encodeBase62, randomBase62 } from './base62.ts'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

describe('encodeBase62', () => {
  it('writes digits, then capitals, then small letters, padded with zeros', () => {
    assert.equal(encodeBase62(0, 3), '000')
    assert.equal(encodeBase62(61, 1), 'z')
    assert.equal(encodeBase62(62, 4), '0010')
    assert.equal(encodeBase62(36, 2), '0a')
    assert.equal(encodeBase62(0xffffffff, 6), '4gfFC3')
  })

  it('writes numbers that read back as what they were, in their order', () => {
    const number = fc.nat({ max: 2 ** 31 - 1 })
    fc.assert(
      fc.property(number, number, (a, b) => {
        const [first, second] = [encodeBase62(a, 6), encodeBase62(b, 6)]
        assert.equal(
          [...first].reduce((sum, digit) => sum * 62 + DIGITS.indexOf(digit), 0),
          a,
        )
        assert.equal(first < second, a < b)
      }),
    )
  })

  it('refuses a number that does not fit rather than cut it', () => {
    assert.throws(() => encodeBase62(62 ** 2, 2), RangeError)
    assert.equal(encodeBase62(62 ** 2 - 1, 2), 'zz')
  })
})

describe('randomBase62', () => {
  it('has the length asked for, also beyond one fill of its pool', () => {
    for (const length of [0, 1, 24, 43, 10_000])
      assert.match(randomBase62(length), new RegExp(`^[0-9A-Za-z]{${length}}$`))
  })

  it('uses every digit about equally often', () => {
    const length = 62_000
    const counts = new Map<string, number>()
    for (const digit of randomBase62(length)) counts.set(digit, (counts.get(digit) ?? 0) + 1)
    assert.equal(counts.size, 62)
    // Chi-squared with 61 degrees of freedom; a fair source stays under 150 but once in 10⁸ runs.
    const deviation = [...counts.values()].reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0)
    assert.ok(deviation < 150, `chi-squared ${deviation}`)
  })

  it('does not repeat itself', () => {
    const ids = Array.from({ length: 10_000 }, () => randomBase62(12))
    assert.equal(new Set(ids).size, ids.length)
  })
})
