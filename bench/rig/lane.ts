import type { Format } from '../canned/formats.ts'
import type { LoadOrder } from '../load/order.ts'
import type { Contender, ContenderName } from './contenders.ts'
import { chatRequest, chatRequestBytes } from './request.ts'
import { benchModel } from './tollgate.ts'

/** A way through a proxy: what the client speaks, and what the upstream does. */
export interface Lane {
  readonly name: string
  readonly proxy: Contender
  readonly client: Format
  readonly upstream: Format
  /** Events that the client gets beside one for each word. */
  readonly eventsBesideWords: number
}

export function laneName(proxy: ContenderName, client: Format, upstream: Format): string {
  return `${proxy}, ${client} from ${upstream}`
}

/**
 * Asks once to learn what an answer looks like.
 *
 * @param words that the upstream says
 * @throws when the answer has fewer events than words
 */
export async function openLane(contender: Contender, client: Format, upstream: Format, words: number): Promise<Lane> {
  const name = laneName(contender.name, client, upstream)
  const model = contender.name === 'tollgate' ? benchModel(upstream) : contender.model
  const proxy = { ...contender, model }
  const { path, headers, body } = chatRequest(proxy, { isStream: true, format: client })
  const response = await fetch(`http://127.0.0.1:${proxy.port}${path}`, { method: 'POST', headers, body })
  const text = await response.text()
  await proxy.settled(1)
  const eventsBesideWords = text.split(/\n\n|\r\n\r\n/).length - 1 - words
  if (response.status !== 200 || eventsBesideWords < 0) throw new Error(`${name}: ${response.status}, ${text}`)
  return { name, proxy, client, upstream, eventsBesideWords }
}

/** Streams side by side, each followed by the next until the time is over. */
export function laneOrder(
  { proxy, client, eventsBesideWords }: Lane,
  { words, connections, durationMs }: { words: number; connections: number; durationMs: number },
): LoadOrder {
  const request = chatRequestBytes(proxy, { isStream: true, format: client })
  return { kind: 'closed', port: proxy.port, request, events: words + eventsBesideWords, connections, durationMs }
}
