const CAPACITY_MIN = 2

/**
 * Moments in their order, oldest first, in a ring that grows and shrinks with what is in it: 8 bytes a moment. All of
 * a node's queues together are as long as its requests of the last minute are many, whatever the limits are.
 */
export class TimeQueue {
  #ring = newRing(CAPACITY_MIN)
  #first = 0
  #length = 0

  get length(): number {
    return this.#length
  }

  /** @param index 0 is the oldest; must be less than `length` */
  at(index: number): number {
    return this.#ring[(this.#first + index) & (this.#ring.length - 1)] as number
  }

  push(timeMs: number): void {
    if (this.#length === this.#ring.length) this.#resize(this.#ring.length * 2)
    this.#ring[(this.#first + this.#length) & (this.#ring.length - 1)] = timeMs
    this.#length += 1
  }

  /** Drops what is not later than `timeMs`. */
  dropUntil(timeMs: number): void {
    while (this.#length > 0 && this.at(0) <= timeMs) {
      this.#first = (this.#first + 1) & (this.#ring.length - 1)
      this.#length -= 1
    }
    if (this.#ring.length > CAPACITY_MIN && this.#length < this.#ring.length / 8) this.#resize(this.#ring.length / 2)
  }

  /** @param capacity a power of two */
  #resize(capacity: number): void {
    const ring = newRing(capacity)
    for (let index = 0; index < this.#length; index++) ring[index] = this.at(index)
    this.#ring = ring
    this.#first = 0
  }
}

/** An array of doubles: a typed array costs 200 bytes more, which is much where there are 100,000 short ones. */
function newRing(capacity: number): number[] {
  return new Array<number>(capacity).fill(Number.NaN)
}
