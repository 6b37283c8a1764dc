interface Player {
  beat(): void
}

/**
 * Beats for many players at one interval, each in its own phase. One timer for all: a timer per stream would cost the
 * upstream more than the writing does.
 */
export class Metronome {
  readonly #slots: Set<Player>[]
  readonly #slotOf = new Map<Player, number>()
  #timer: NodeJS.Timeout | undefined
  #nextMs = 0
  #joined = 0

  constructor(intervalMs: number) {
    this.#slots = Array.from({ length: intervalMs }, () => new Set())
  }

  /** Phases are given out evenly: a burst of arrivals is not a burst of beats ever after. */
  join(player: Player): void {
    const slot = this.#joined % this.#slots.length
    this.#joined += 1
    this.#slotOf.set(player, slot)
    this.#slots[slot]?.add(player)
    if (this.#timer) return
    this.#nextMs = Math.ceil(performance.now())
    this.#timer = setInterval(() => this.#tick(), 1)
  }

  leave(player: Player): void {
    const slot = this.#slotOf.get(player)
    if (slot === undefined) return
    this.#slotOf.delete(player)
    this.#slots[slot]?.delete(player)
    if (this.#slotOf.size === 0) this.stop()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Late beats are made up for, a millisecond's slot at a time. */
  #tick(): void {
    const nowMs = performance.now()
    for (; this.#timer && this.#nextMs <= nowMs; this.#nextMs += 1) {
      for (const player of this.#slots[this.#nextMs % this.#slots.length] ?? []) player.beat()
    }
  }
}
