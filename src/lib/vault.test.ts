import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Vault } from './vault.ts'

const SECRET = 'a secret of more than thirty-two characters'
const PLACE = ['provider_keys', 'org_1', 'pkey_1', 'secret']

describe('the vault', () => {
  const vault = new Vault(SECRET)

  it('gives back what was sealed, at the same place', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.string()), (text, place) => {
        assert.equal(vault.open(vault.seal(text, place), place), text)
      }),
    )
  })

  it('opens nothing with any bit turned', () => {
    const { box, keyId } = vault.seal('sk-canary', PLACE)
    for (let bit = 0; bit < box.length * 8; bit++) {
      const turned = Buffer.from(box)
      turned[bit >> 3] = (turned[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      assert.throws(() => vault.open({ box: turned, keyId }, PLACE), `bit ${bit}`)
    }
  })

  it('opens nothing that was cut short', () => {
    const { box, keyId } = vault.seal('sk-canary', PLACE)
    for (let bytes = 0; bytes < box.length; bytes++) {
      assert.throws(() => vault.open({ box: box.subarray(0, bytes), keyId }, PLACE), `${bytes} bytes`)
    }
  })

  it('opens nothing that was brought from another place', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.array(fc.string()), (here, there) => {
        fc.pre(JSON.stringify(here) !== JSON.stringify(there))
        assert.throws(() => vault.open(vault.seal('sk-canary', here), there))
      }),
    )
    for (const [i] of PLACE.entries()) {
      const other = PLACE.with(i, `${PLACE[i]}2`)
      assert.throws(() => vault.open(vault.seal('sk-canary', PLACE), other), other.join())
    }
    assert.throws(() => vault.open(vault.seal('sk-canary', ['ab', 'c']), ['a', 'bc']))
  })

  it('never seals the same text to the same box', () => {
    const boxes = Array.from({ length: 100 }, () => vault.seal('sk-canary', PLACE).box.toString('hex'))
    assert.equal(new Set(boxes).size, 100)
  })

  it('opens what a former secret sealed, and seals under the new one', () => {
    const old = vault.seal('sk-canary', PLACE)
    const next = new Vault(`${SECRET}, changed`, [SECRET])
    assert.equal(next.open(old, PLACE), 'sk-canary')
    assert.notEqual(next.keyId, vault.keyId)
    const anew = next.seal('sk-canary', PLACE)
    assert.equal(anew.keyId, next.keyId)
    assert.throws(() => vault.open(anew, PLACE), /not known here/)
    assert.throws(() => vault.open({ ...anew, keyId: vault.keyId }, PLACE))
  })
})
