import { createHash } from 'node:crypto'

/**
 * SHA-256 over parts, each behind its length, so that no two different lists of parts are the same bytes.
 */
export function keyOf(parts: readonly (string | Uint8Array)[]): Buffer {
  const hash = createHash('sha256')
  const length = Buffer.alloc(8)
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part
    length.writeBigUInt64BE(BigInt(bytes.length))
    hash.update(length).update(bytes)
  }
  return hash.digest()
}
