import { BudgetAlerts } from '#budget-alerts/budget-alerts.ts'
import { expireHolds } from '#ledger/holds/store.ts'
import { Loop } from '#lib/loop.ts'
import { pruneFailedAttempts } from '#metering/failed-attempts/store.ts'
import { ensurePartitions } from '#metering/partitions.ts'
import { Reconciler } from '#reconciliation/reconciler.ts'
import { pruneChanges } from '#storage/changes.ts'
import type { Database } from '#storage/database.ts'
import type { Settings } from './settings.ts'
import type { Telemetry } from './telemetry.ts'

const HOUSEKEEPING_MS = 60 * 60_000
const HOLD_EXPIRY_MS = 60_000

/** What a node does beside serving, from its start to its end; no request waits for it. */
export interface Duty {
  start(): void
  /** Ends what is under way. */
  stop(): Promise<void>
}

export interface DutyDeps {
  readonly database: Database
  readonly settings: Settings
  readonly telemetry: Telemetry
  onError(error: unknown, duty: string): void
}

export function backgroundDuties(deps: DutyDeps): readonly Duty[] {
  return [housekeeping(deps), holdExpiry(deps), reconciliation(deps), budgetAlerts(deps)]
}

function housekeeping({ database, onError }: DutyDeps): Duty {
  return new Loop({
    name: 'housekeeping',
    intervalMs: HOUSEKEEPING_MS,
    runOnce: async () => {
      await ensurePartitions(database, new Date(), new Date())
      await pruneChanges(database)
      await pruneFailedAttempts(database)
    },
    onError,
  })
}

/** Work that holds money renews its hold; what was forgotten comes back within a minute of its end. */
function holdExpiry({ database, telemetry, onError }: DutyDeps): Duty {
  return new Loop({
    name: 'hold expiry',
    intervalMs: HOLD_EXPIRY_MS,
    runOnce: async () => {
      const expired = await expireHolds(database)
      if (expired > 0) telemetry.holdsExpired(expired)
    },
    onError,
  })
}

function reconciliation({ database, telemetry, onError }: DutyDeps): Duty {
  const reconciler = new Reconciler({
    database,
    onDifference: (invariant, difference) => telemetry.booksDiffer(invariant, difference),
    onError,
  })
  telemetry.watch({
    reconcile_differences: {
      help: 'What the last reconciliation by any node found to differ. Must be 0; `tollgate reconcile` shows it.',
      isShared: true,
      read: () => reconciler.verdict.differences,
    },
    reconcile_last_success_timestamp_seconds: {
      help: 'When a reconciliation by any node last found nothing; 0 before the first.',
      isShared: true,
      read: () => (reconciler.verdict.succeededAt?.getTime() ?? 0) / 1000,
    },
  })
  return reconciler
}

function budgetAlerts({ database, settings, telemetry, onError }: DutyDeps): Duty {
  return new BudgetAlerts({
    database,
    thresholds: () => settings.current.alerts,
    onAlert: alert => telemetry.budgetCrossed(alert),
    onError,
  })
}
