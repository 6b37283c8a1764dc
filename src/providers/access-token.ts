import { fetchJson, type JsonAnswer } from '#http/outbound/fetch-json.ts'
import { type Expiring, Renewed } from '#lib/renewed.ts'
import { isObject } from '#wire/json/parse.ts'
import type { Authorization, CredentialWatcher } from './provider.ts'

/** Presents a token that is fetched when it is first needed and renewed before it expires. */
export function accessToken(fetch: () => Promise<Expiring<string>>, { failed }: CredentialWatcher): Authorization {
  const token = new Renewed({ fetch, onFailure: failed })
  return () => {
    const value = token.get()
    return value instanceof Promise ? value.then(toHeaders) : toHeaders(value)
  }
}

function toHeaders(token: string): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` }
}

/** Asks a token endpoint (RFC 6749, 5). @throws Error with what it says, never what it was sent */
export async function requestToken(url: string, form: Readonly<Record<string, string>>): Promise<Expiring<string>> {
  return readToken(url, await fetchJson(url, { form }))
}

/** @throws Error when the answer holds no token */
export function readToken(url: string, { status, body }: JsonAnswer): Expiring<string> {
  const fields = isObject(body) ? body : {}
  const { access_token: token, expires_in: lifeSeconds, error, error_description: description } = fields
  if (status === 200 && typeof token === 'string' && typeof lifeSeconds === 'number') {
    return { value: token, expiresAtMs: Date.now() + lifeSeconds * 1000 }
  }
  const reasons = [error, description].filter(reason => typeof reason === 'string')
  throw new TokenRefused(`${url} answered ${status} and no token${reasons.map(reason => `: ${reason}`).join('')}`)
}

/** Its code keeps its stack, which says nothing here, out of the log. */
class TokenRefused extends Error {
  readonly code = 'no access token'
}
