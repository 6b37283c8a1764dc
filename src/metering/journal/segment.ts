import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, stat, unlink } from 'node:fs/promises'
import path from 'node:path'

const NAME = /^(\d{12})\.journal$/

/** One file of the journal. Files are numbered upwards; each start of a node begins a new one. */
export interface Segment {
  readonly number: number
  readonly file: string
}

export async function listSegments(folder: string): Promise<Segment[]> {
  const names = await readdir(folder)
  return names
    .flatMap(name => {
      const match = NAME.exec(name)
      return match ? [{ number: Number(match[1]), file: path.join(folder, name) }] : []
    })
    .toSorted((a, b) => a.number - b.number)
}

/** A write returns when its bytes are on the disk: `write` and `fdatasync` in one trip to the thread pool. */
const { O_WRONLY, O_CREAT, O_EXCL, O_DSYNC } = constants
const SYNCED_WRITES = O_WRONLY | O_CREAT | O_DSYNC

/** Creates a segment whose writes are synced, and makes its directory entry as durable as its content will be. */
export async function createSegment(folder: string, number: number): Promise<Segment & { handle: FileHandle }> {
  const file = path.join(folder, `${String(number).padStart(12, '0')}.journal`)
  const handle = await open(file, SYNCED_WRITES | O_EXCL, 0o600)
  await syncFolder(folder)
  return { number, file, handle }
}

export async function ensureFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
}

export async function deleteSegment(segment: Segment): Promise<void> {
  await unlink(segment.file)
}

/** Up to `bytesMax` bytes from `offset`, and whether the file goes on after them. */
export async function readSegment(
  segment: Segment,
  offset: number,
  bytesMax: number,
): Promise<{ bytes: Buffer; hasMore: boolean }> {
  const { size } = await stat(segment.file)
  const length = Math.max(0, Math.min(bytesMax, size - offset))
  const bytes = Buffer.allocUnsafe(length)
  const handle = await open(segment.file, 'r')
  try {
    const { bytesRead } = await handle.read(bytes, 0, length, offset)
    return { bytes: bytes.subarray(0, bytesRead), hasMore: offset + bytesRead < size }
  } finally {
    await handle.close()
  }
}

/** Writes and removes a file, synced as a segment is: whether the disk does what it is told. @throws the disk's error */
export async function probeDisk(folder: string): Promise<void> {
  const file = path.join(folder, 'probe')
  const handle = await open(file, SYNCED_WRITES, 0o600)
  try {
    await handle.write(Buffer.alloc(4096), 0, 4096, 0)
  } finally {
    await handle.close()
  }
  await unlink(file)
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
