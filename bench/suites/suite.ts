import type { Finding } from '../rig/results.ts'

/** What a suite is given. */
export interface SuiteContext {
  /** Ends whatever a suite has started, should the bench be interrupted. */
  readonly session: AsyncDisposableStack
  /** A short run for trying out: too short to rely on. */
  readonly isQuick: boolean
  /** Tells whoever watches what is going on. */
  say(text: string): void
}

export type Suite = (context: SuiteContext) => Promise<Finding[]>
