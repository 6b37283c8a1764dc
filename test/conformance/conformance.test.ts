import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { PROVIDERS } from '#providers/registry.ts'
import { Stand } from './stand.ts'
import { checksOf, FIXTURES } from './suite.ts'
import type { Target } from './target.ts'

/** Every provider of the registry through a real gateway, against a host that is as strict as the provider's documentation. */

const FOLDER = path.join(import.meta.dirname, 'targets')
const files = await readdir(FOLDER)
const targets: readonly Target[] = await Promise.all(
  files.map(async file => ((await import(path.join(FOLDER, file))) as { target: Target }).target),
)

/** Checks wait for the gateway and its books more than they work. */
const AT_ONCE = { concurrency: 16 }

let stand: Stand

before(async () => {
  stand = await Stand.start(targets, FIXTURES)
})

after(() => stand?.stop())

it('covers every provider of the registry, and every operation that it has', () => {
  const covered = targets.map(({ provider, chat, embeddings }) => [provider, Boolean(chat), Boolean(embeddings)])
  const offered = [...PROVIDERS.values()].map(({ name, operations }) => [
    name,
    operations.chat !== undefined,
    operations.embeddings !== undefined,
  ])
  assert.deepEqual(covered.toSorted(byName), offered.toSorted(byName))
})

for (const target of targets) {
  describe(target.provider, AT_ONCE, () => {
    for (const check of checksOf(target)) it(check.name, () => check.run(stand))
  })
}

function byName([a]: readonly unknown[], [b]: readonly unknown[]): number {
  return String(a) < String(b) ? -1 : 1
}
