import assert from 'node:assert/strict'
import type { Way } from './clients/client.ts'
import { FORMATS, type Format } from './conversation.ts'
import { Exchange } from './exchange.ts'
import { question, type Rig } from './rig.ts'

/** One side goes away before the answer is whole. */
export interface Interruption {
  readonly name: string
  readonly about: string
  readonly way: Way
  play(cell: InterruptionCell, rig: Rig): Promise<void>
}

export interface InterruptionCell {
  readonly client: Format
  readonly upstream: Format
  readonly name: string
}

/** Half of the answer's words, counted with caution. */
const HALF_TOKENS_MIN = 4

export const INTERRUPTIONS: readonly Interruption[] = [
  {
    name: 'a client that leaves in the middle of a stream',
    about: 'The upstream’s connection is closed at once, and what was produced is billed as `client_gone`.',
    way: 'stream',
    play: async ({ client, upstream, name }, rig) => {
      const exchange = new Exchange()
      const controller = new AbortController()
      const { signal } = controller
      const onText = () => controller.abort()
      const call = { client, way: 'stream', upstream, fixture: 'cached_hang', exchange, signal, onText } as const
      await assert.rejects(rig.ask({ ...call, conversation: question(name) }))
      await rig.provider.seen(name)[0]?.closed
      const bill = await rig.billOf(exchange.headers.get('x-request-id') ?? '')
      assert.equal(bill.outcome, 'client_gone')
      assert.ok(Number(bill.prompt_tokens) > 0)
      assert.ok(Number(bill.completion_tokens) >= HALF_TOKENS_MIN, `${bill.completion_tokens} tokens are billed`)
    },
  },
  {
    name: 'a client that leaves before a whole answer',
    about: 'The upstream’s connection is closed at once.',
    way: 'whole',
    play: async ({ client, upstream, name }, rig) => {
      const controller = new AbortController()
      const call = { client, way: 'whole', upstream, fixture: 'cached_hang', signal: controller.signal } as const
      const answer = rig.ask({ ...call, conversation: question(name) })
      const seen = rig.provider.nextSeen(name)
      const [{ closed }] = await Promise.all([
        seen.then(each => {
          controller.abort()
          return each
        }),
        assert.rejects(answer),
      ])
      await closed
    },
  },
  {
    name: 'an upstream that breaks off in the middle of a stream',
    about: 'The SDK raises: nobody takes half an answer for a whole one. What was produced is billed as `cut`.',
    way: 'stream',
    play: async ({ client, upstream, name }, rig) => {
      const exchange = new Exchange()
      const call = { client, way: 'stream', upstream, fixture: 'cached_cut', exchange } as const
      await assert.rejects(rig.ask({ ...call, conversation: question(name) }))
      const { outcome } = await rig.billOf(exchange.headers.get('x-request-id') ?? '')
      assert.equal(outcome, 'cut')
    },
  },
]

export function cellsOf({ name }: Interruption): InterruptionCell[] {
  return FORMATS.flatMap(client =>
    FORMATS.map(upstream => ({ client, upstream, name: `${name}: ${client} client, ${upstream} upstream` })),
  )
}
