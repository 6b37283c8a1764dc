import type { Exchange, Target, Work } from '#core/work.ts'
import { ENVELOPE_START } from './adaptations/seal-envelope.ts'
import type { RequestFacts, WireFormat } from './format.ts'
import { CHAT_FORMATS } from './formats.ts'
import { parseJsonObject, tryParse } from './json/parse.ts'
import { translate } from './translate.ts'

/** A client's request beyond its body. */
export interface ChatRequestContext {
  /** What stands in the URL, for formats that put the model there; read like members of the body. */
  readonly given?: Readonly<Record<string, unknown>>
  /** Headers for an upstream of the same format: versions and trials of its API. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * A client's chat request as the relay takes it.
 *
 * @param format what the client speaks
 * @throws Fault `invalid_request` naming the field
 */
export function chatWork(format: WireFormat, bytes: Buffer, { given, headers = {} }: ChatRequestContext = {}): Work {
  const parsed = parseJsonObject(bytes)
  const body = given ? { ...parsed, ...given } : parsed
  const facts = format.passThrough.readRequest(body)
  return {
    scene: 'chat',
    operation: 'chat',
    format: format.name,
    model: facts.model,
    isStream: facts.isStream,
    estimate: facts.estimate,
    encode: target => {
      const isSame = target.format === format.name
      // A seal that another format's upstream made would go on to a vendor that cannot read it.
      if (isSame && !bytes.includes(ENVELOPE_START)) return { ...passThrough(format, bytes, facts, target), headers }
      const call = format.decodeRequest(body)
      const exchange = translate(format, upstreamFormat(target), { call, body, estimate: facts.estimate }, target)
      return isSame ? { ...exchange, headers } : exchange
    },
  }
}

function upstreamFormat({ format }: Target): WireFormat {
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
): Omit<Exchange, 'headers'> {
  const { editRequest, editAnswer, editStream } = format.passThrough
  return {
    body: editRequest(bytes, facts, target),
    warnings: [],
    decodeAnswer: answer => editAnswer(answer, target),
    decodeFault: (status, error) => format.decodeFault(status, tryParse(error)),
    openStream: () => editStream(facts, target),
  }
}
