import type { HeaderMap } from '#core/sink.ts'
import type { Exchange } from '#core/work.ts'

/** Anything that a header value may not hold (RFC 9110, 5.5), and what lies beyond ASCII. */
const UNFIT = /[^\x20-\x7e]/g

/** The headers of an answer, with what the upstream could not be told (design §6). */
export function answerHeaders(headers: HeaderMap, { warnings }: Exchange): HeaderMap {
  if (warnings.length === 0) return headers
  return { ...headers, 'x-gateway-warnings': warnings.join('; ').replace(UNFIT, '?') }
}
