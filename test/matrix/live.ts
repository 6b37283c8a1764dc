import assert from 'node:assert/strict'
import type { Cell } from './case.ts'
import { cellsOf } from './case.ts'
import { CASES } from './cases.ts'
import { Exchange } from './exchange.ts'
import type { Rig } from './rig.ts'

/** Cases whose upstream is played once more by aimock, there and then: it takes our requests or refuses them. */
const LIVE = ['words', 'tool call']

export const LIVE_CELLS: readonly Cell[] = CASES.filter(({ name }) => LIVE.includes(name))
  .flatMap(cellsOf)
  .map(cell => ({ ...cell, name: `${cell.name}, live` }))

/** aimock leaves out of its answers what a client need not have, so only what was said is compared. */
export async function playLive({ of, client, upstream, way, name }: Cell, rig: Rig): Promise<void> {
  const [step] = of.steps
  assert.ok(step)
  const call = { client, way, upstream, fixture: `live-${step.fixture}`, exchange: new Exchange() }
  const answer = await rig.ask({ ...call, conversation: step.say(name, []) })
  const { text = '', calls = [] } = step.answer
  assert.equal(answer.text, text)
  assert.deepEqual(
    answer.calls.map(each => ({ name: each.name, arguments: each.arguments })),
    calls,
  )
  assert.equal(answer.usage.output, 12)
}
