import { bearerToken } from '#http/inbound/bearer-token.ts'
import type { Inbound } from '#http/inbound/route.ts'

/** The API key that a caller sent, in whichever of the spec's places (spec, Authentication). */
export function credentialOf(request: Inbound): string | undefined {
  return bearerToken(request) ?? header(request, 'x-api-key')
}

/** The same on native routes, which also take the key from the vendor's header and from the query. */
export function nativeCredentialOf(request: Inbound): string | undefined {
  return (
    credentialOf(request) ??
    header(request, 'x-native-api-key') ??
    header(request, 'x-goog-api-key') ??
    request.query.get('key') ??
    undefined
  )
}

function header({ headers }: Inbound, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}
