import type { Exchange, Target, Work } from '#core/work.ts'
import { ENVELOPE_START } from './adaptations/seal-envelope.ts'
import { withBounds } from './estimate-bounds.ts'
import type { RequestFacts, Stated, WireFormat } from './format.ts'
import { CHAT_FORMATS } from './formats.ts'
import { parseJsonObject, tryParse } from './json/parse.ts'
import { JsonArrayStream } from './json-array-stream.ts'
import { CAUTIOUS, TYPICAL } from './token-estimate.ts'
import { translate } from './translate.ts'

/** A client's request beyond its body. */
export interface ChatRequestContext {
  /** What stands in the URL, for formats that put the model there; read like members of the body. */
  readonly given?: Readonly<Record<string, unknown>>
  /** What a stream is sent as. */
  readonly streamedAs?: 'events' | 'json-array'
  /** What the bytes say, for who has parsed them already. */
  readonly parsed?: Record<string, unknown>
  /** Headers for an upstream of the same format: versions and trials of its API. */
  readonly headers?: Readonly<Record<string, string>>
  readonly stated?: Stated
}

/**
 * A client's chat request as the relay takes it.
 *
 * @param format what the client speaks
 * @throws Fault `invalid_request` naming the field
 */
export function chatWork(format: WireFormat, bytes: Buffer, context: ChatRequestContext = {}): Work {
  const { given, headers = {}, streamedAs = 'events', stated, parsed = parseJsonObject(bytes) } = context
  const body = given ? { ...parsed, ...given } : parsed
  const facts = format.passThrough.readRequest(body)
  const encode = (target: Target): Exchange => {
    const isSame = target.format === format.name
    // A seal that another format's upstream made would go on to a vendor that cannot read it.
    if (isSame && !bytes.includes(ENVELOPE_START)) {
      return { ...passThrough(format, bytes, facts, target, stated), headers }
    }
    const call = format.decodeRequest(body)
    const request = { call, body, estimate: facts.estimate, stated }
    const exchange = translate(format, upstreamFormat(target), request, target)
    return isSame ? { ...exchange, headers } : exchange
  }
  return {
    scene: facts.translation ? 'translation' : 'chat',
    operation: 'chat',
    format: format.name,
    model: facts.model,
    isStream: facts.isStream,
    estimate: limits => facts.estimate(limits, TYPICAL),
    bound: limits => withBounds(facts.estimate(limits, CAUTIOUS), bytes),
    encode: target => {
      const exchange = encode(target)
      return streamedAs === 'json-array'
        ? { ...exchange, openStream: () => new JsonArrayStream(exchange.openStream()) }
        : exchange
    },
  }
}

export function upstreamFormat({ format }: Target): WireFormat {
  const known = CHAT_FORMATS.get(format)
  if (!known) throw new Error(`an endpoint speaks "${format}", which is no chat format`)
  return known
}

/** The upstream speaks the client's format: nothing is translated, a few bytes are edited. */
function passThrough(
  format: WireFormat,
  bytes: Buffer,
  facts: RequestFacts,
  target: Target,
  stated: Stated | undefined,
): Omit<Exchange, 'headers'> {
  const { editRequest, editAnswer, editStream } = format.passThrough
  return {
    body: editRequest(bytes, facts, target),
    warnings: [],
    decodeAnswer: answer => editAnswer(answer, target, stated),
    decodeFault: (status, error) => format.decodeFault(status, tryParse(error)),
    openStream: () => editStream(facts, target, stated),
  }
}
