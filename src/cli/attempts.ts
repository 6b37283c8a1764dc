import { type Command, InvalidArgumentError } from 'commander'
import { sumFailedAttempts } from '#metering/failed-attempts/store.ts'
import { printTable } from './table.ts'
import { withDatabase } from './with-database.ts'

const DAY_MS = 24 * 60 * 60_000

/** `tollgate attempts`: upstream calls that brought no client anything, to compare with what providers bill. */
export function addAttempts(program: Command): void {
  program
    .command('attempts')
    .description('sum up failed upstream calls; providers may bill those that are uncertain')
    .option('--days <number>', 'how far to look back', parseDays, 30)
    .action(({ days }: { days: number }) =>
      withDatabase(async ({ database }) => {
        const sums = await sumFailedAttempts(database, new Date(Date.now() - days * DAY_MS))
        const rows = sums.map(sum => [
          sum.channelId,
          sum.upstreamModel,
          sum.kind,
          sum.reason,
          String(sum.attempts),
          sum.possibleCost,
        ])
        printTable(['CHANNEL', 'MODEL', 'KIND', 'REASON', 'ATTEMPTS', 'AT MOST USD'], rows)
      }),
    )
}

function parseDays(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of days.')
  return Number(text)
}
