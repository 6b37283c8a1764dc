import { after, before, describe, it } from 'node:test'
import { cellsOf } from './case.ts'
import { CASES } from './cases.ts'
import { FAILURES, cellsOf as failureCells, play as playFailure } from './failures.ts'
import { INTERRUPTIONS, cellsOf as interruptionCells } from './interruptions.ts'
import { LIVE_CELLS, playLive } from './live.ts'
import { play } from './matrix.ts'
import { Rig } from './rig.ts'

/** Every client SDK against every upstream format: each `it` is one cell of the tables in docs/formats.md. */

const FIXTURES = [
  ...CASES.flatMap(({ steps }) => steps.map(({ fixture }) => fixture)),
  ...FAILURES.map(({ fixture }) => fixture),
  ...['live-words', 'live-tool-call', 'cached_hang', 'cached_cut'],
]

/** Cells wait for each other's upstream, books and streams more than they work. */
const AT_ONCE = { concurrency: 16 }

let rig: Rig

before(async () => {
  rig = await Rig.start(FIXTURES)
})

after(() => rig?.stop())

for (const each of CASES) {
  describe(each.name, AT_ONCE, () => {
    for (const cell of cellsOf(each)) it(cell.name, () => play(cell, rig))
  })
}

describe('against aimock', AT_ONCE, () => {
  for (const cell of LIVE_CELLS) it(cell.name, () => playLive(cell, rig))
})

for (const failure of FAILURES) {
  describe(failure.name, AT_ONCE, () => {
    for (const cell of failureCells(failure)) it(cell.name, () => playFailure(cell, rig))
  })
}

for (const interruption of INTERRUPTIONS) {
  describe(interruption.name, AT_ONCE, () => {
    for (const cell of interruptionCells(interruption)) it(cell.name, () => interruption.play(cell, rig))
  })
}
