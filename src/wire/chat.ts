import type { Exchange, Target, Work } from '#core/work.ts'
import type { RequestFacts, WireFormat } from './format.ts'
import { parseJsonObject, tryParse } from './json/parse.ts'

/**
 * A client's chat request as the relay takes it.
 *
 * @param format what the client speaks
 * @throws Fault `invalid_request` naming the field
 */
export function chatWork(format: WireFormat, bytes: Buffer): Work {
  const facts = format.passThrough.readRequest(parseJsonObject(bytes))
  return {
    scene: 'chat',
    operation: 'chat',
    model: facts.model,
    isStream: facts.isStream,
    estimate: facts.estimate,
    encode: target => passThrough(format, bytes, facts, target),
  }
}

/** The upstream speaks the client's format: nothing is translated, a few bytes are edited. */
function passThrough(format: WireFormat, bytes: Buffer, facts: RequestFacts, target: Target): Exchange {
  const { editRequest, editAnswer, editStream } = format.passThrough
  return {
    body: editRequest(bytes, facts, target),
    decodeAnswer: answer => editAnswer(answer, target),
    decodeFault: (status, error) => format.decodeFault(status, tryParse(error)),
    openStream: () => editStream(facts, target),
  }
}
