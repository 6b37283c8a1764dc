import { bearerToken } from '#http/inbound/bearer-token.ts'
import type { Inbound } from '#http/inbound/route.ts'

/** The API key that a caller sent, in whichever of the spec's places (spec, Authentication). */
export function credentialOf(request: Inbound): string | undefined {
  const { 'x-api-key': apiKey } = request.headers
  return bearerToken(request) ?? (typeof apiKey === 'string' ? apiKey : undefined)
}
