import { type SpawnOptions, spawnSync } from 'node:child_process'
import { chown, readFile, stat } from 'node:fs/promises'
import path from 'node:path'

/**
 * Postgres refuses to run as root. Containers and CI are root, so there it runs as somebody else: in a user namespace,
 * where root's own files look as if they belonged to that somebody (nothing has to be handed over, and the data may
 * lie where only root gets in), or else truly as another user of the system.
 */
export interface Launcher {
  /** What to spawn instead of `program args…`. */
  command(program: string, args: readonly string[]): { file: string; args: string[]; options: SpawnOptions }
  /** Makes `folder`, which exists, usable by the programs launched. */
  own(folder: string): Promise<void>
}

const AS_WE_ARE: Launcher = {
  command: (program, args) => ({ file: program, args: [...args], options: {} }),
  own: async () => {},
}

/**
 * @param programs folder of the binaries, and `dataFolder`, that a user other than root would have to reach
 * @throws Error with what to do, when we are root and there is no way around it
 */
export async function chooseLauncher(programs: string, dataFolder: string): Promise<Launcher> {
  if (process.getuid?.() !== 0) return AS_WE_ARE
  const user = await unprivilegedUser()
  if (user && canMakeNamespace(user)) return inNamespace(user)
  if (user && (await isReachable(programs)) && (await isReachable(path.dirname(dataFolder)))) return asUser(user)
  throw new Error(
    'The embedded Postgres cannot run as root here: user namespaces are forbidden, and ' +
      `${user ? `user "${user.name}" cannot reach ${dataFolder}` : 'there is no other user on this system'}. ` +
      'Start Tollgate as an ordinary user, choose another TOLLGATE_DATA, or set DATABASE_URL.',
  )
}

interface SystemUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** Postgres looks its user up by number, so the user must exist. */
async function unprivilegedUser(): Promise<SystemUser | undefined> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const users = text.split('\n').flatMap((line): SystemUser[] => {
    const [name = '', , uid = '', gid = ''] = line.split(':')
    return Number(uid) > 0 ? [{ name, uid: Number(uid), gid: Number(gid) }] : []
  })
  return users.find(user => user.name === 'postgres') ?? users.find(user => user.name === 'nobody') ?? users[0]
}

function namespaceArgs({ uid, gid }: SystemUser): string[] {
  return ['--user', `--map-user=${uid}`, `--map-group=${gid}`]
}

function canMakeNamespace(user: SystemUser): boolean {
  return spawnSync('unshare', [...namespaceArgs(user), 'true'], { stdio: 'ignore' }).status === 0
}

function inNamespace(user: SystemUser): Launcher {
  return {
    command: (program, args) => ({ file: 'unshare', args: [...namespaceArgs(user), program, ...args], options: {} }),
    own: async () => {},
  }
}

function asUser({ uid, gid }: SystemUser): Launcher {
  return {
    command: (program, args) => ({ file: program, args: [...args], options: { uid, gid } }),
    own: folder => chown(folder, uid, gid),
  }
}

/** Whether anybody may enter every folder on the way to `target`. */
async function isReachable(target: string): Promise<boolean> {
  const OTHERS_MAY_ENTER = 0o001
  for (let folder = path.resolve(target); ; folder = path.dirname(folder)) {
    const { mode } = await stat(folder)
    if ((mode & OTHERS_MAY_ENTER) === 0) return false
    if (folder === path.dirname(folder)) return true
  }
}
