import type { Inbound } from './route.ts'

/** What follows `Authorization: Bearer`, or `undefined`. */
export function bearerToken({ headers }: Pick<Inbound, 'headers'>): string | undefined {
  const { authorization } = headers
  return typeof authorization === 'string' ? /^Bearer +(\S+) *$/i.exec(authorization)?.[1] : undefined
}
