import type { ClaimedPart, Loan, RateBoard, StatedNeed } from '#quota/rate/board.ts'

interface NodeRow {
  divisor: number
  seenAtMs: number
  leftAtMs: number | undefined
}

/** The tables by which nodes share rates, in memory and in a time that the test makes pass. */
export class VirtualBoard {
  nowMs = 0
  readonly #nodes = new Map<string, NodeRow>()
  readonly #needs = new Map<string, StatedNeed & { statedAtMs: number }>()
  readonly #loans = new Map<string, Omit<Loan, 'leftMs'> & { endsAtMs: number }>()

  /** What one node sees of it. @param isAway whether it cannot reach it now */
  viewFor(isAway: () => boolean): RateBoard {
    const reached = async <T>(run: () => T): Promise<T> => {
      if (isAway()) throw new Error('the database is away')
      return run()
    }
    return {
      claim: ({ nodeId, leftMs, silenceMs = Number.POSITIVE_INFINITY }, decide) =>
        reached(() => {
          for (const [id, { seenAtMs, leftAtMs = this.nowMs }] of this.#nodes) {
            const isGone = leftAtMs < this.nowMs - leftMs || seenAtMs < this.nowMs - silenceMs
            if (id !== nodeId && isGone) this.#nodes.delete(id)
          }
          const others = [...this.#nodes].flatMap(([id, { divisor, leftAtMs }]): ClaimedPart[] =>
            id === nodeId ? [] : [{ nodeId: id, divisor, hasLeft: leftAtMs !== undefined }],
          )
          this.#nodes.set(nodeId, { divisor: decide(others), seenAtMs: this.nowMs, leftAtMs: undefined })
        }),
      leave: nodeId =>
        reached(() => {
          const row = this.#nodes.get(nodeId)
          if (row) row.leftAtMs = this.nowMs
        }),
      consult: (nodeId, needs, freshMs) =>
        reached(() => {
          for (const need of needs) {
            this.#needs.set(`${need.subject} ${nodeId}`, { ...need, nodeId, statedAtMs: this.nowMs })
          }
          return {
            databaseMs: this.nowMs,
            needs: [...this.#needs.values()].filter(
              need => need.nodeId !== nodeId && need.statedAtMs > this.nowMs - freshMs,
            ),
            loans: [...this.#loans.values()]
              .filter(loan => loan.lender === nodeId || loan.borrower === nodeId)
              .map(({ endsAtMs, ...loan }) => ({ ...loan, leftMs: endsAtMs - this.nowMs })),
          }
        }),
      move: (nodeId, loans, returns) =>
        reached(() => {
          for (const { subject, borrower, slots, endsAtDatabaseMs } of loans) {
            const loan = { subject, lender: nodeId, borrower, slots, endsAtMs: endsAtDatabaseMs }
            this.#loans.set(`${subject} ${nodeId} ${borrower}`, loan)
          }
          for (const { subject, lender } of returns) {
            const loan = this.#loans.get(`${subject} ${lender} ${nodeId}`)
            if (loan) Object.assign(loan, { slots: 0, endsAtMs: this.nowMs })
          }
        }),
      tidy: (nodeId, keptMs) =>
        reached(() => {
          for (const [name, loan] of this.#loans) {
            if (loan.lender === nodeId && loan.endsAtMs < this.nowMs - keptMs) this.#loans.delete(name)
          }
        }),
    }
  }
}
