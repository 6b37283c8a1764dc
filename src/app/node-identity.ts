import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { newId } from '#lib/ids.ts'

/**
 * Who this process is to the other nodes, however often it starts: what it has leased and not yet posted lies in the
 * same folder's journal. The data folder's lock keeps two processes from being one node.
 */
export async function loadNodeId(folder: string): Promise<string> {
  const file = path.join(folder, 'node-id')
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const id = newId('node')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(file, `${id}\n`, { mode: 0o600, flush: true })
  return id
}
