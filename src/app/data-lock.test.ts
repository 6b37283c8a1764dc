import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { DataLock } from './data-lock.ts'

describe('the lock of a data folder', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'tollgate-lock-'))
  })

  afterEach(() => rm(folder, { recursive: true, force: true }))

  const holder = (fields: Record<string, unknown>) =>
    writeFile(
      path.join(folder, 'lock.json'),
      JSON.stringify({ pid: 1, host: hostname(), heartbeatAt: new Date(), ...fields }),
    )

  it('is held by one, who is named to the next, and free again after release', async () => {
    const lock = await DataLock.acquire(folder)
    await lock.announce('http://127.0.0.1:1234')
    assert.equal(await DataLock.isHeld(folder), true)
    await assert.rejects(
      DataLock.acquire(folder),
      new RegExp(`process ${process.pid} on ${hostname()}, http://127.0.0.1:1234`),
    )
    await lock.release()
    assert.equal(await DataLock.isHeld(folder), false)
    await (await DataLock.acquire(folder)).release()
  })

  it('is one lock whatever path leads to the folder', async () => {
    const lock = await DataLock.acquire(folder)
    await assert.rejects(DataLock.acquire(path.join(folder, '..', path.basename(folder))))
    await lock.release()
  })

  it('is not stopped by what a killed process of this machine left', async () => {
    await holder({ heartbeatAt: new Date().toISOString() })
    await (await DataLock.acquire(folder)).release()
  })

  it('is refused while another machine on the same volume was heard of lately', async () => {
    await holder({ host: 'elsewhere', heartbeatAt: new Date().toISOString() })
    await assert.rejects(DataLock.acquire(folder), /on elsewhere/)
    await holder({ host: 'elsewhere', heartbeatAt: new Date(Date.now() - 60_000).toISOString() })
    await (await DataLock.acquire(folder)).release()
  })
})
