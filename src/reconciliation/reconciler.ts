import { Loop } from '#lib/loop.ts'
import type { Database } from '#storage/database.ts'
import { INTERVAL_MS, recentScope } from './scope.ts'
import {
  advanceMarks,
  beginReconciliation,
  type Difference,
  dropMarks,
  endReconciliation,
  type Finding,
  readFindings,
  readVerdict,
  type Verdict,
} from './store.ts'

/** Each node asks this often whether it is time to look, and what was found. */
const TICK_MS = 30_000
/** A bug that unsettles every key must not drown what else the log says. */
const TOLD_MAX = 20

export interface ReconcilerOptions {
  readonly database: Database
  /** @param invariant what should hold, as a sentence */
  onDifference(invariant: string, difference: Difference): void
  onError(error: unknown, what: string): void
}

/** Looks every five minutes, on one node of many, whether the books agree. */
export class Reconciler {
  readonly #options: ReconcilerOptions
  readonly #loop: Loop
  #verdict: Verdict = { differences: 0, succeededAt: undefined }

  constructor(options: ReconcilerOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: 'reconciliation',
      intervalMs: TICK_MS,
      runOnce: () => this.runOnce(),
      onError: options.onError,
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** What the last look by any node has found. */
  get verdict(): Verdict {
    return this.#verdict
  }

  /** Looks if it is time. @param intervalMs since any node has looked */
  async runOnce(intervalMs = INTERVAL_MS): Promise<void> {
    const { database } = this.#options
    const history = await beginReconciliation(database, intervalMs)
    if (history) {
      const scope = recentScope(history)
      const findings = await confirmed(database, await readFindings(database, scope), () =>
        readFindings(database, scope),
      )
      const subjects = subjectsOf(findings)
      this.#tell(findings)
      await advanceMarks(database, history.now, subjects)
      await endReconciliation(database, { differences: subjects.length, hoursCheckedTill: scope.hoursCheckedTill })
    }
    this.#verdict = await readVerdict(database)
  }

  #tell(findings: readonly Finding[]): void {
    const all = findings.flatMap(({ invariant, differences }) => differences.map(each => ({ invariant, each })))
    for (const { invariant, each } of all.slice(0, TOLD_MAX)) this.#options.onDifference(invariant, each)
  }
}

/**
 * A mark says what entries came to before it. Were one ever to appear late, its account would seem to differ, so those
 * that do are read once more without their marks.
 */
async function confirmed(
  database: Database,
  findings: readonly Finding[],
  readAgain: () => Promise<Finding[]>,
): Promise<readonly Finding[]> {
  const subjects = subjectsOf(findings)
  return subjects.length > 0 && (await dropMarks(database, subjects)) ? readAgain() : findings
}

function subjectsOf(findings: readonly Finding[]): string[] {
  return findings.flatMap(({ differences }) => differences.map(({ subject }) => subject))
}
