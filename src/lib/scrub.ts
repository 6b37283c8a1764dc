const CREDENTIAL = /\b(sk|mt|whsec|rk|pk|xai|gsk|AIza)[-_]?[A-Za-z0-9_-]{12,}|\b[Bb]earer\s+\S+/g
const CHARACTERS_MAX = 500

/** Text from elsewhere, fit for a log: anything that looks like a credential is blanked, and length is bounded. */
export function scrub(text: string): string {
  // Blanked first: a cut could leave the beginning of a credential that no longer looks like one.
  return blankCredentials(text).slice(0, CHARACTERS_MAX)
}

/** Text from elsewhere, fit to be passed on: anything that looks like a credential is blanked. */
export function blankCredentials(text: string): string {
  return text.replace(CREDENTIAL, '[redacted]')
}
