/** The child's end of the line between the bench and the processes that it starts. */

/** What a child says first: it serves on this port (0 where it serves nothing). */
export interface Ready {
  readonly kind: 'ready'
  readonly port: number
}

/** The answer to one order. */
export interface Done<R = unknown> {
  readonly kind: 'done'
  readonly result: R
}

/** Says that this process is ready, then carries out orders one after another, until the parent has gone. */
export function serveParent<T>(port: number, carryOut: (order: T) => unknown): void {
  process.on('message', async (order: T) => process.send?.({ kind: 'done', result: await carryOut(order) }))
  // A parent that was killed cannot end its children; they end themselves.
  process.on('disconnect', () => process.exit())
  process.send?.({ kind: 'ready', port })
}
