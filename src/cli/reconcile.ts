import type { Command } from 'commander'
import { readFindings } from '#reconciliation/store.ts'
import { printTable } from './table.ts'
import { withDatabase } from './with-database.ts'

/** `tollgate reconcile`: whether the books agree. Exit code 1 when they do not. */
export function addReconcile(program: Command): void {
  program
    .command('reconcile')
    .description('check that accounts, leases, key totals and usage agree')
    .action(() =>
      withDatabase(async ({ database }) => {
        const findings = await readFindings(database, 'everything')
        for (const { invariant, differences } of findings) {
          process.stdout.write(`${differences.length === 0 ? 'ok  ' : 'FAIL'}  ${invariant}\n`)
          if (differences.length === 0) continue
          const rows = differences.map(({ subject, expected, found }) => [subject, expected, found])
          printTable(['SUBJECT', 'EXPECTED USD', 'FOUND USD'], rows)
        }
        if (findings.some(({ differences }) => differences.length > 0)) process.exitCode = 1
      }),
    )
}
