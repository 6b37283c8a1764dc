import { closedLoop } from './load/closed-loop.ts'
import { hold } from './load/hold.ts'
import { openLoop } from './load/open-loop.ts'
import type { LoadOrder } from './load/order.ts'
import { serveParent } from './rig/child.ts'

/** The load generator, in a process of its own so that nothing of the bench slows it down. */
const LOOPS = { closed: closedLoop, open: openLoop, hold }

serveParent<LoadOrder>(0, order => LOOPS[order.kind](order))
