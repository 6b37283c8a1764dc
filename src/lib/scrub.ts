const CREDENTIAL = /\b(sk|mt|whsec|rk|pk|xai|gsk|AIza)[-_]?[A-Za-z0-9_-]{12,}|\bBearer\s+\S+/g
const CHARACTERS_MAX = 500

/** Text from elsewhere, fit for a log: anything that looks like a credential is blanked, and length is bounded. */
export function scrub(text: string): string {
  return text.slice(0, CHARACTERS_MAX).replace(CREDENTIAL, '[redacted]')
}
