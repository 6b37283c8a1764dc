import { EventStreamCodec } from '@smithy/eventstream-codec'
import { fromUtf8, toUtf8 } from '@smithy/util-utf8'

/** Messages of an AWS event stream, made by AWS's own implementation. */
const official = new EventStreamCodec(toUtf8, fromUtf8)

export function eventMessage(headers: Readonly<Record<string, string>>, payload: unknown): Uint8Array {
  const typed = Object.entries(headers).map(([name, value]) => [`:${name}`, { type: 'string' as const, value }])
  return official.encode({ headers: Object.fromEntries(typed), body: fromUtf8(JSON.stringify(payload)) })
}

/** An event of a model's own API, as Bedrock passes it on. */
export function chunkMessage(event: unknown): Uint8Array {
  const bytes = Buffer.from(JSON.stringify(event)).toString('base64')
  return eventMessage({ 'message-type': 'event', 'event-type': 'chunk', 'content-type': 'application/json' }, { bytes })
}
