import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile, realpath, rm, writeFile } from 'node:fs/promises'
import net from 'node:net'
import { hostname, tmpdir } from 'node:os'
import path from 'node:path'
import { ConfigError } from './config/config-error.ts'

const HEARTBEAT_MS = 5_000
/** A holder on another machine that has not been heard of for this long is gone. */
const SILENCE_MS = 15_000

/** What a holder writes about itself. */
interface Holder {
  readonly pid: number
  readonly host: string
  readonly heartbeatAt: string
  readonly url?: string | undefined
}

/**
 * Keeps two Tollgates off one data folder. The lock is a listening socket, which the kernel gives to one process and
 * takes back when that process ends, however it ends. A heartbeat file beside it covers what sockets cannot see: another
 * container or machine on the same volume.
 */
export class DataLock {
  readonly #folder: string
  readonly #server: net.Server
  readonly #timer: NodeJS.Timeout
  #url: string | undefined

  private constructor(folder: string, server: net.Server) {
    this.#folder = folder
    this.#server = server
    this.#timer = setInterval(() => void this.#beat().catch(() => {}), HEARTBEAT_MS).unref()
  }

  /** @throws ConfigError saying who holds it */
  static async acquire(folder: string): Promise<DataLock> {
    const server = await listen(await socketPath(folder))
    if (!server) throw new ConfigError(await heldMessage(folder))
    const other = await readHolder(folder)
    if (other && other.host !== hostname() && Date.now() - Date.parse(other.heartbeatAt) < SILENCE_MS) {
      server.close()
      throw new ConfigError(await heldMessage(folder))
    }
    const lock = new DataLock(folder, server)
    await lock.#beat()
    return lock
  }

  /** Whether some Tollgate runs on the folder now. */
  static async isHeld(folder: string): Promise<boolean> {
    const server = await listen(await socketPath(folder))
    server?.close()
    return server === undefined
  }

  /** Tells who asks where this Tollgate answers. */
  async announce(url: string): Promise<void> {
    this.#url = url
    await this.#beat()
  }

  async release(): Promise<void> {
    clearInterval(this.#timer)
    await rm(holderFile(this.#folder), { force: true })
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #beat(): Promise<void> {
    const holder: Holder = { pid: process.pid, host: hostname(), heartbeatAt: new Date().toISOString(), url: this.#url }
    await writeFile(holderFile(this.#folder), `${JSON.stringify(holder)}\n`, { mode: 0o600 })
  }
}

function holderFile(folder: string): string {
  return path.join(folder, 'lock.json')
}

async function readHolder(folder: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(holderFile(folder), 'utf8')) as Holder
  } catch {
    return undefined
  }
}

async function heldMessage(folder: string): Promise<string> {
  const holder = await readHolder(folder)
  const who = holder ? ` (process ${holder.pid} on ${holder.host}${holder.url ? `, ${holder.url}` : ''})` : ''
  return `Another Tollgate${who} is using the data folder ${folder}. Stop it, or choose another TOLLGATE_DATA.`
}

/** Linux has socket names that exist in the kernel only and vanish with their process; elsewhere it is a file. */
async function socketPath(folder: string): Promise<string> {
  const name = `tollgate-lock-${createHash('sha256')
    .update(await realpath(folder))
    .digest('hex')
    .slice(0, 24)}`
  return process.platform === 'linux' ? `\0${name}` : path.join(tmpdir(), name)
}

/** @returns `undefined` when a living process listens there */
async function listen(address: string): Promise<net.Server | undefined> {
  const server = net.createServer(socket => socket.destroy()).unref()
  try {
    server.listen(address)
    await once(server, 'listening')
    return server
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    if (address.startsWith('\0') || (await isAlive(address))) return undefined
    await rm(address, { force: true })
    return listen(address)
  }
}

async function isAlive(address: string): Promise<boolean> {
  const socket = net.connect(address)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
