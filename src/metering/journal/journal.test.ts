import assert from 'node:assert/strict'
import { appendFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { Journal } from './journal.ts'

describe('the journal', () => {
  let folder: string
  let errors: string[]
  let opened: Journal[]

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'tollgate-journal-'))
    errors = []
    opened = []
  })

  afterEach(async () => {
    await Promise.all(opened.map(journal => journal.close().catch(() => {})))
    await rm(folder, { recursive: true, force: true })
  })

  async function open(reserveBytes = 0): Promise<Journal> {
    const journal = new Journal({
      folder,
      reserveBytes,
      onError: (error, what) => errors.push(`${what}: ${(error as Error).message}`),
    })
    await journal.open()
    opened.push(journal)
    return journal
  }

  /** Everything that can be read, released as it is read. */
  async function drain(journal: Journal): Promise<string[]> {
    const texts: string[] = []
    for (;;) {
      const batch = await journal.read(1)
      if (!batch) return texts
      texts.push(...batch.payloads.map(String))
      journal.release(batch.end)
    }
  }

  it('reads records back in the order in which they were appended', async () => {
    const journal = await open()
    await Promise.all(['one', 'two', 'three'].map(text => journal.append(text)))
    await journal.append('four')
    assert.deepEqual(await drain(journal), ['one', 'two', 'three', 'four'])
  })

  it('reads again what was not released', async () => {
    const journal = await open()
    await journal.append('kept')
    assert.deepEqual((await journal.read(1000))?.payloads.map(String), ['kept'])
    assert.deepEqual((await journal.read(1000))?.payloads.map(String), ['kept'])
  })

  it('finds what an earlier process left, and then its own', async () => {
    const first = await open()
    await first.append('left behind')
    // No close: the first process was killed.
    const second = await open()
    await second.append('new')
    assert.deepEqual(await drain(second), ['left behind', 'new'])
  })

  it('passes over a torn tail and says so', async () => {
    const first = await open()
    await first.append('whole')
    const [segment = ''] = await readdir(folder)
    await appendFile(path.join(folder, segment), Buffer.from([20, 0, 0, 0, 1, 2, 3, 4, 65]))
    const second = await open()
    assert.deepEqual(await drain(second), ['whole'])
    assert.equal(errors.length, 1)
    assert.match(errors[0] ?? '', /ends in a record that was never finished/)
  })

  it('deletes segments that were released, and leaves nothing after a clean close', async () => {
    const first = await open()
    await first.append('x')
    const second = await open()
    await drain(second)
    assert.equal((await readdir(folder)).length, 1)
    await second.close()
    assert.deepEqual(await readdir(folder), [])
  })

  it('keeps what was not released when it is closed', async () => {
    const first = await open()
    await first.append('later')
    await first.close()
    assert.deepEqual(await drain(await open()), ['later'])
  })

  it('survives a burst larger than its buffers', async () => {
    const journal = await open()
    const texts = Array.from({ length: 5_000 }, (_, i) => `${i}:${'x'.repeat(200)}`)
    await Promise.all(texts.map(text => journal.append(text)))
    assert.deepEqual(await drain(journal), texts)
  })

  it('refuses a record that is larger than records may be', async () => {
    const journal = await open()
    assert.throws(() => journal.append('x'.repeat(100_000)), RangeError)
    await journal.append('fine')
    assert.deepEqual(await drain(journal), ['fine'])
  })

  it('refuses work when less than its reserve is free', async () => {
    const journal = await open(Number.MAX_SAFE_INTEGER)
    assert.throws(() => journal.assertAccepting(), { code: 'service_unavailable' })
    assert.match(journal.refusal ?? '', /bytes left/)
  })

  it('tells its listener once records are durable', async () => {
    const journal = await open()
    const told = new Promise<void>(resolve => journal.onAppended(resolve))
    await journal.append('x')
    await told
  })
})
