import { bearerToken } from '#http/inbound/bearer-token.ts'
import type { Inbound } from '#http/inbound/route.ts'

/** The API key that a caller sent, in whichever of the spec's places (spec, Authentication). */
export function credentialOf(request: Inbound): string | undefined {
  return bearerToken(request) ?? header(request, 'x-api-key')
}

/** The same where Google's SDKs ask too: they have headers of their own, and under `/v1beta` the query. */
export function nativeCredentialOf(request: Inbound): string | undefined {
  return credentialOf(request) ?? nativeHeader(request) ?? nativeQuery(request)
}

/** The caller speaks as Google's SDKs do: under the path or with the header that only they know. */
export function isNativeCaller(request: Inbound): boolean {
  return isNativePath(request) || nativeHeader(request) !== undefined
}

function nativeHeader(request: Inbound): string | undefined {
  return header(request, 'x-native-api-key') ?? header(request, 'x-goog-api-key')
}

function nativeQuery(request: Inbound): string | undefined {
  return (isNativePath(request) && request.query.get('key')) || undefined
}

function isNativePath({ path }: Inbound): boolean {
  return path.startsWith('/v1beta/')
}

function header({ headers }: Inbound, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}
