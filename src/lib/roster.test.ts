import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Roster } from './roster.ts'

describe('Roster', () => {
  it('holds what a set would hold, whoever comes and goes', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 9 })), turns => {
        const members = Array.from({ length: 10 }, (_, name) => ({ name, rosterIndex: -1 }))
        const roster = new Roster<(typeof members)[number]>()
        const expected = new Set<(typeof members)[number]>()
        for (const turn of turns) {
          const member = members[turn] as (typeof members)[number]
          if (expected.has(member)) {
            expected.delete(member)
            assert.equal(roster.delete(member), true)
            assert.equal(roster.delete(member), false)
          } else {
            expected.add(member)
            roster.add(member)
          }
          assert.deepEqual(new Set(roster.list()), expected)
          assert.equal(roster.list().length, expected.size)
        }
      }),
    )
  })

  it('lists everyone even when they leave during the walk', () => {
    const roster = new Roster<{ rosterIndex: number }>()
    for (let i = 0; i < 5; i++) roster.add({ rosterIndex: -1 })
    const seen = roster.list()
    for (const member of seen) roster.delete(member)
    assert.deepEqual([seen.length, roster.list().length], [5, 0])
  })
})
