import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Sink, SinkWatcher } from '#core/sink.ts'
import { sendStream } from './send-stream.ts'

/** A client that takes nothing before it is told to. */
class SlowClient implements Sink {
  readonly seen: string[] = []
  watcher: SinkWatcher | undefined
  isOpen = false
  isGone = false

  send(): void {}

  open(status: number): void {
    this.isOpen = true
    this.seen.push(`open ${status}`)
  }

  write(bytes: Uint8Array): boolean {
    this.seen.push(Buffer.from(bytes).toString())
    return false
  }

  end(): void {
    this.seen.push('end')
  }

  destroy(): void {}

  watch(watcher: SinkWatcher | undefined): void {
    this.watcher = watcher
  }
}

/** Chunks `1`, `2`, …, and what of them was asked for. */
function counting(until: number) {
  const state = { made: 0, isReleased: false }
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      while (state.made < until) yield Buffer.from(String(++state.made))
    } finally {
      state.isReleased = true
    }
  }
  return { state, chunks: chunks() }
}

const HEAD = { status: 200, headers: {} }

describe('a streamed answer', () => {
  it('is made no faster than the client takes it', async () => {
    const client = new SlowClient()
    const { state, chunks } = counting(3)
    const sent = sendStream(client, HEAD, chunks)
    for (let taken = 1; taken <= 3; taken++) {
      await turn()
      assert.equal(state.made, taken)
      client.watcher?.drained()
    }
    await sent
    assert.deepEqual(client.seen, ['open 200', '1', '2', '3', 'end'])
  })

  it('is given up when the client leaves', async () => {
    const client = new SlowClient()
    const { state, chunks } = counting(1_000)
    const sent = sendStream(client, HEAD, chunks)
    await turn()
    client.isGone = true
    client.watcher?.gone()
    await sent
    assert.deepEqual([state.made, state.isReleased], [1, true])
  })

  it('has not begun when its first part cannot be made', async () => {
    const client = new SlowClient()
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield* []
      throw new Error('no database')
    }
    await assert.rejects(sendStream(client, HEAD, failing()), /no database/)
    assert.deepEqual(client.seen, [])
  })
})
