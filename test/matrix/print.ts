import { writeFile } from 'node:fs/promises'
import { DOCUMENT, readDocument } from './document.ts'

/** Writes the tables of docs/formats.md anew: `node test/matrix/print.ts`. */
const { expected } = await readDocument()
await writeFile(DOCUMENT, expected)
