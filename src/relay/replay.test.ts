import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { HeaderMap, Sink, SinkWatcher } from '#core/sink.ts'
import { piecesOf, replayStream } from './replay.ts'

const events = fc
  .array(fc.string({ maxLength: 20 }), { maxLength: 50 })
  .map(texts => texts.map(text => `data: ${JSON.stringify(text)}\n\n`))

describe('the pieces of a recorded stream', () => {
  it('are the stream, byte for byte, and none is too large', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), fc.integer({ min: 1, max: 100 }), (bytes, bytesMax) => {
        const pieces = [...piecesOf(Buffer.from(bytes), bytesMax)]
        assert.deepEqual(Buffer.concat(pieces), Buffer.from(bytes))
        for (const piece of pieces) assert.ok(piece.length > 0 && piece.length <= bytesMax)
      }),
    )
  })

  it('end where events end', () => {
    fc.assert(
      fc.property(events, texts => {
        for (const piece of piecesOf(Buffer.from(texts.join('')), 200)) assert.match(piece.toString(), /\n\n$/)
      }),
    )
  })
})

/** A client that takes one piece at a time. */
class SlowClient implements Sink {
  readonly isOpen = true
  isGone = false
  watcher: SinkWatcher | undefined
  pieces: Uint8Array[] = []
  hasEnded = false
  send(): void {}
  open(_status: number, _headers: HeaderMap): void {}
  write(bytes: Uint8Array): boolean {
    this.pieces.push(bytes)
    return false
  }
  end(): void {
    this.hasEnded = true
  }
  destroy(): void {}
  watch(watcher: SinkWatcher | undefined): void {
    this.watcher = watcher
  }
}

describe('replaying a stream', () => {
  const body = Buffer.alloc(200 * 1024, 'x')

  it('waits for a client that does not keep up', async () => {
    const client = new SlowClient()
    const replaying = replayStream(client, {}, body)
    for (let pieces = 1; pieces <= 4; pieces++) {
      assert.equal(client.pieces.length, pieces)
      assert.equal(client.hasEnded, false)
      client.watcher?.drained()
      await Promise.resolve()
    }
    await replaying
    assert.deepEqual(Buffer.concat(client.pieces), body)
    assert.equal(client.hasEnded, true)
  })

  it('ends when the client has gone', async () => {
    const client = new SlowClient()
    const replaying = replayStream(client, {}, body)
    client.isGone = true
    client.watcher?.gone()
    await replaying
    assert.equal(client.pieces.length, 1)
  })
})
