/** A value that is good for a time, such as an access token. */
export interface Expiring<T> {
  readonly value: T
  /** Unix milliseconds; `Infinity` for a value that stays good. */
  readonly expiresAtMs: number
}

export interface RenewedOptions<T> {
  fetch(): Promise<Expiring<T>>
  /** Told of every fetch that fails, those in the background included. */
  onFailure(error: unknown): void
  readonly now?: () => number
}

/** A value is replaced so long before it expires, or at half its life if that is short. */
const AHEAD_MS_MAX = 5 * 60_000
/** Clocks differ and requests travel: what is left of a value's last moments is not used. */
const MARGIN_MS_MAX = 10_000
/** Between two tries to replace a value that is still good. */
const RETRY_MS = 5_000

/**
 * Keeps a value that expires: fetched when it is first needed, replaced in the background before it expires, by one
 * fetch however many wait for it.
 */
export class Renewed<T> {
  readonly #options: RenewedOptions<T>
  #current: Expiring<T> | undefined
  /** From when on the current value is to be replaced, and is no longer good. */
  #staleAtMs = 0
  #uselessAtMs = 0
  #pending: Promise<T> | undefined

  constructor(options: RenewedOptions<T>) {
    this.#options = options
  }

  /** The value, at once when it is at hand. A rejection is the failure of the fetch. */
  get(): T | Promise<T> {
    const nowMs = this.#now()
    if (!this.#current || nowMs >= this.#uselessAtMs) return this.#fetch()
    // Its failure has been told; the value at hand is still good.
    if (nowMs >= this.#staleAtMs) this.#fetch().catch(() => {})
    return this.#current.value
  }

  #fetch(): Promise<T> {
    this.#pending ??= this.#replace().finally(() => {
      this.#pending = undefined
    })
    return this.#pending
  }

  async #replace(): Promise<T> {
    this.#staleAtMs = this.#now() + RETRY_MS
    try {
      const fetched = await this.#options.fetch()
      const nowMs = this.#now()
      const lifeMs = Math.max(0, fetched.expiresAtMs - nowMs)
      this.#current = fetched
      this.#staleAtMs = Math.max(this.#staleAtMs, fetched.expiresAtMs - Math.min(AHEAD_MS_MAX, lifeMs / 2))
      this.#uselessAtMs = fetched.expiresAtMs - Math.min(MARGIN_MS_MAX, lifeMs / 4)
      return fetched.value
    } catch (error) {
      this.#options.onFailure(error)
      throw error
    }
  }

  #now(): number {
    return this.#options.now?.() ?? Date.now()
  }
}
