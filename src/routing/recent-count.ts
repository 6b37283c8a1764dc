const SLICES = 6

/** How often something happened lately. What is older than the window is forgotten a slice of it at a time. */
export class RecentCount {
  readonly #sliceMs: number
  readonly #counts: number[] = new Array(SLICES).fill(0)
  #slice = 0
  #total = 0

  constructor(windowMs: number) {
    this.#sliceMs = windowMs / SLICES
  }

  add(nowMs: number): void {
    this.#forget(nowMs)
    this.#counts[this.#slice % SLICES] = (this.#counts[this.#slice % SLICES] as number) + 1
    this.#total++
  }

  total(nowMs: number): number {
    this.#forget(nowMs)
    return this.#total
  }

  clear(): void {
    this.#counts.fill(0)
    this.#total = 0
  }

  #forget(nowMs: number): void {
    const slice = Math.floor(nowMs / this.#sliceMs)
    if (slice - this.#slice >= SLICES) this.clear()
    else {
      for (let past = this.#slice + 1; past <= slice; past++) {
        this.#total -= this.#counts[past % SLICES] as number
        this.#counts[past % SLICES] = 0
      }
    }
    this.#slice = Math.max(this.#slice, slice)
  }
}
