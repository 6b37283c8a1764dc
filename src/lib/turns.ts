/** Runs asynchronous work one piece after another, in the order of asking. A piece that fails holds up nobody. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  take<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(run)
    this.#last = turn.catch(() => {})
    return turn
  }
}
