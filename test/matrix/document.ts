import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { printMatrix } from './tables.ts'

export const DOCUMENT = path.resolve(import.meta.dirname, '../../docs/formats.md')

const BEGIN = '<!-- From here on printed by `node test/matrix/print.ts`, which is also what the suite runs. -->'

/** The document as it stands, and as it should. */
export async function readDocument(): Promise<{ current: string; expected: string }> {
  const current = await readFile(DOCUMENT, 'utf8')
  const [introduction] = current.split(BEGIN)
  return { current, expected: `${introduction}${BEGIN}\n\n${printMatrix()}` }
}
