/** How nodes tell each other what they use and need: a few small tables in Postgres (`store.ts`). */
export interface RateBoard {
  /**
   * Reads what other nodes claim and writes this node's claim, while nobody else can do either.
   *
   * @param decide the part to claim, given what others have
   */
  claim(terms: ClaimTerms, decide: (others: readonly ClaimedPart[]) => number): Promise<void>
  /** This node has stopped admitting; what it used last still counts for a window. */
  leave(nodeId: string): Promise<void>
  /** States what this node needs, and reads what concerns it. */
  consult(nodeId: string, needs: readonly Need[], freshMs: number): Promise<Notices>
  /** Gives loans, or more or longer ones than before, and gives back others' before their end. */
  move(nodeId: string, loans: readonly GivenLoan[], returns: readonly LoanName[]): Promise<void>
  /** Removes what this node has stated and lent long ago. */
  tidy(nodeId: string, keptMs: number): Promise<void>
}

export interface ClaimTerms {
  readonly nodeId: string
  /** What nodes that have left used counts for this long. */
  readonly leftMs: number
  /** Nodes that nobody has heard of for this long are gone; `undefined`: that cannot be judged now. */
  readonly silenceMs: number | undefined
}

export interface ClaimedPart {
  readonly nodeId: string
  /** `Infinity`: none yet. */
  readonly divisor: number
  readonly hasLeft: boolean
}

/** A node needs more of a subject than it has. */
export interface Need {
  readonly subject: string
  readonly limit: number
  /** Beyond what it has; 0: no more than what it has borrowed, but that for longer. */
  readonly wanted: number
}

export interface StatedNeed extends Need {
  readonly nodeId: string
}

export interface LoanName {
  readonly subject: string
  readonly lender: string
}

export interface GivenLoan {
  readonly subject: string
  readonly borrower: string
  readonly slots: number
  /** By the database's clock, so that a statement that arrives late makes no longer loan. */
  readonly endsAtDatabaseMs: number
}

export interface Loan extends LoanName {
  readonly borrower: string
  readonly slots: number
  readonly leftMs: number
}

export interface Notices {
  /** The database's clock. */
  readonly databaseMs: number
  /** Of others, stated lately. */
  readonly needs: readonly StatedNeed[]
  /** To this node and from it. */
  readonly loans: readonly Loan[]
}
