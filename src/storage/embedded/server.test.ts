import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { openDatabase, ping } from '../database.ts'
import { EmbeddedPostgres, socketFolder } from './server.ts'

describe('the embedded server', () => {
  let folder: string
  let started: EmbeddedPostgres[]
  let progress: string[]

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'tollgate-pg-'))
    started = []
    progress = []
  })

  afterEach(async () => {
    for (const server of started) await server.stop()
    await rm(folder, { recursive: true, force: true })
  })

  async function start(dataFolder = folder): Promise<EmbeddedPostgres> {
    const server = new EmbeddedPostgres({ dataFolder, onExit: () => {}, onProgress: message => progress.push(message) })
    started.push(server)
    await server.start()
    return server
  }

  async function answers(server: EmbeddedPostgres): Promise<void> {
    const database = openDatabase(server.address, { connectionsMax: 1, onIdleError: () => {} })
    await ping(database)
    await database.destroy()
  }

  it('takes the place of a server that a killed process left running', async () => {
    await start()
    await answers(await start())
    assert.ok(progress.includes('stopped a database server that an earlier start left behind'))
  })

  it('opens a cluster whose pid file names a stranger that lives', async () => {
    const first = await start()
    await first.stop()
    const file = path.join(folder, 'postgres', 'postmaster.pid')
    await writeFile(file, `${process.pid}\n${path.join(folder, 'postgres')}\n`)
    await answers(await start())
    assert.doesNotThrow(() => process.kill(process.pid, 0), 'the stranger still lives')
  })

  it('begins anew after a kill while the cluster was being made', async () => {
    await mkdir(path.join(folder, 'postgres.new', 'base'), { recursive: true })
    await writeFile(path.join(folder, 'postgres.new', 'PG_VERSION'), '18\n')
    await answers(await start())
  })

  it('lets nobody else near its socket', async () => {
    await start()
    assert.equal((await stat(socketFolder(folder))).mode & 0o777, 0o700)
  })

  it('says what the server said when it cannot start', async () => {
    const first = await start()
    await first.stop()
    await writeFile(path.join(folder, 'postgres', 'PG_VERSION'), '9.6\n')
    await assert.rejects(start(), /did not start:[\s\S]*initialized by PostgreSQL version 9.6/)
  })

  const isRoot = process.getuid?.() === 0
  it('runs as another user where root may not make a user namespace', { skip: !isRoot && 'not root' }, async () => {
    await chmod(folder, 0o755)
    const dataFolder = path.join(folder, 'data')
    await mkdir(dataFolder, { mode: 0o755 })
    const { PATH } = process.env
    // Without `unshare` on the path there are no namespaces.
    process.env.PATH = '/nonexistent'
    try {
      await answers(await start(dataFolder))
      assert.notEqual((await stat(path.join(dataFolder, 'postgres'))).uid, 0)
    } finally {
      process.env.PATH = PATH
    }
  })

  it('says what to do where there is no way around root', { skip: !isRoot && 'not root' }, async () => {
    const { PATH } = process.env
    process.env.PATH = '/nonexistent'
    try {
      // Only root may enter the folder above.
      await assert.rejects(
        start(path.join(folder, 'data')),
        /cannot run as root here: .* Start Tollgate as an ordinary user/,
      )
    } finally {
      process.env.PATH = PATH
    }
  })

  it('keeps its log beside the data', async () => {
    await start()
    assert.match(
      await readFile(path.join(folder, 'postgres.log'), 'utf8'),
      /database system is ready to accept connections/,
    )
  })
})
