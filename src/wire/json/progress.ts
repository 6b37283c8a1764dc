const OPENERS = '{['
const CLOSERS = '}]'

/**
 * Tells when JSON text that arrives in fragments forms a whole object or array, in constant memory. Used to know that
 * one tool call's arguments are complete before the next call's may begin.
 */
export class JsonProgress {
  #depth = 0
  #inString = false
  #afterBackslash = false
  #isComplete = false

  get isComplete(): boolean {
    return this.#isComplete
  }

  push(fragment: string): void {
    for (const character of fragment) {
      if (this.#inString) this.#readInString(character)
      else if (character === '"') this.#inString = true
      else if (OPENERS.includes(character)) this.#depth += 1
      else if (CLOSERS.includes(character)) {
        this.#depth -= 1
        if (this.#depth === 0) this.#isComplete = true
      }
    }
  }

  #readInString(character: string): void {
    if (this.#afterBackslash) this.#afterBackslash = false
    else if (character === '\\') this.#afterBackslash = true
    else if (character === '"') this.#inString = false
  }
}
