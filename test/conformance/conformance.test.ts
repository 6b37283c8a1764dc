import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { PROVIDERS } from '#providers/registry.ts'
import { Stand } from './stand.ts'
import { checksOf, FIXTURES } from './suite.ts'
import { nameOf, type Target } from './target.ts'

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
  const covered = Map.groupBy(targets, ({ provider }) => provider)
  assert.deepEqual([...covered.keys()].toSorted(), [...PROVIDERS.keys()].toSorted())
  for (const { name, operations } of PROVIDERS.values()) {
    for (const operation of ['chat', 'embeddings'] as const) {
      const isCovered = covered.get(name)?.some(target => target[operation]) ?? false
      assert.equal(isCovered, operations[operation] !== undefined, `${operation} of ${name}`)
    }
  }
})

for (const target of targets) {
  describe(nameOf(target), AT_ONCE, () => {
    for (const check of checksOf(target)) it(check.name, () => check.run(stand))
  })
}
