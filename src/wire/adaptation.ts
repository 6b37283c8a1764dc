import type { Call } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import type { Result } from '#core/result.ts'
import type { Quirks } from '#core/work.ts'
import type { FormatName } from './format.ts'

/**
 * One thing that client and upstream see differently and that no codec can settle alone, because a codec knows only
 * its own side: put right in the call on its way to the upstream, and undone in the answer on its way back.
 */
export interface Adaptation {
  readonly call: Call
  /** What was lost, a sentence each. */
  readonly warnings?: readonly string[]
  /** Undoes it in a whole answer. */
  readonly adaptResult?: (result: Result) => Result
  /** Undoes it in a stream; called once a stream. */
  readonly adaptEvents?: () => EventAdapter
}

/** Fed every event of one stream in order. */
export type EventAdapter = (event: CallEvent) => readonly CallEvent[]

export interface Sides {
  readonly client: FormatName
  readonly upstream: FormatName
  /** Where the upstream differs from its format. */
  readonly quirks: Quirks
}

/** @throws Fault `unsupported_parameter` for what must not be lost and cannot be put right */
export type Adapt = (call: Call, sides: Sides) => Adaptation

/** All of them one after the other; on the way back in reverse. */
export function adaptAll(adapts: readonly Adapt[], call: Call, sides: Sides): Required<Adaptation> {
  const adaptations: Adaptation[] = []
  let current = call
  for (const adapt of adapts) {
    const adaptation = adapt(current, sides)
    adaptations.push(adaptation)
    current = adaptation.call
  }
  const backwards = adaptations.toReversed()
  const results = backwards.flatMap(({ adaptResult }) => adaptResult ?? [])
  const streams = backwards.flatMap(({ adaptEvents }) => adaptEvents ?? [])
  return {
    call: current,
    warnings: adaptations.flatMap(({ warnings = [] }) => warnings),
    adaptResult: result => results.reduce((adapted, adapt) => adapt(adapted), result),
    adaptEvents: () => chain(streams.map(open => open())),
  }
}

function chain(adapters: readonly EventAdapter[]): EventAdapter {
  const [only, second] = adapters
  if (!only) return event => [event]
  if (!second) return only
  return event => {
    let events: readonly CallEvent[] = [event]
    for (const adapt of adapters) events = adaptEach(adapt, events)
    return events
  }
}

/** Nearly always there is one event, and it stays one. */
function adaptEach(adapt: EventAdapter, events: readonly CallEvent[]): readonly CallEvent[] {
  const [only, second] = events
  return only && !second ? adapt(only) : events.flatMap(adapt)
}
