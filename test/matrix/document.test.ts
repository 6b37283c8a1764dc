import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readDocument } from './document.ts'

it('docs/formats.md says what the matrix asserts', async () => {
  const { current, expected } = await readDocument()
  assert.equal(current, expected, 'run `node test/matrix/print.ts`')
})
