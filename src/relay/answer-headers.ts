import type { HeaderMap } from '#core/sink.ts'

/** Anything that a header value may not hold (RFC 9110, 5.5), and what lies beyond ASCII. */
const UNFIT = /[^\x20-\x7e]/g

/** Whatever could not be told in full, to the upstream or to the client. */
interface Lossy {
  readonly warnings?: readonly string[]
}

/** The headers of an answer, with what was lost on the way to the upstream and back (design §6). */
export function answerHeaders(headers: HeaderMap, ...steps: readonly Lossy[]): HeaderMap {
  const warnings = steps.flatMap(step => step.warnings ?? [])
  if (warnings.length === 0) return headers
  return { ...headers, 'x-gateway-warnings': warnings.join('; ').replace(UNFIT, '?') }
}
