import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { encodeBase62, randomBase62 } from '#lib/base62.ts'

/**
 * Credentials: `sk-` (inference) or `mt-` (management), 43 base62 digits of randomness (256 bits), and 6 digits of
 * CRC-32 over all before them. The checksum tells a mistyped or invented credential from a real one without asking
 * the database.
 */
export type CredentialKind = 'sk' | 'mt'

const RANDOM_DIGITS = 43
const CHECKSUM_DIGITS = 6
const SHAPE = /^(sk|mt)-([0-9A-Za-z]{49})$/

/** Leading characters that may be shown: enough to recognise a key, no help in guessing it. */
const SHOWN_CHARACTERS = 11

export function mintCredential(kind: CredentialKind): string {
  const body = `${kind}-${randomBase62(RANDOM_DIGITS)}`
  return body + checksum(body)
}

/** The kind of a well-formed credential, or `undefined` for anything else. */
export function credentialKind(text: string): CredentialKind | undefined {
  const match = SHAPE.exec(text)
  if (!match) return undefined
  const body = text.slice(0, -CHECKSUM_DIGITS)
  return checksum(body) === text.slice(-CHECKSUM_DIGITS) ? (match[1] as CredentialKind) : undefined
}

export function shownPrefix(credential: string): string {
  return credential.slice(0, SHOWN_CHARACTERS)
}

function checksum(body: string): string {
  return encodeBase62(crc32(body), CHECKSUM_DIGITS)
}

/** Which pepper a stored hash was made with; a new one is added here when the secret is to be changed. */
export const PEPPER_VERSION = 1

/** Turns credentials into what is stored of them. A slow hash would protect nothing: the credential is 256 bits. */
export class CredentialHasher {
  readonly #pepper: KeyObject

  /** @param secret the installation's `TOLLGATE_SECRET` */
  constructor(secret: string) {
    const pepper = hkdfSync('sha256', secret, '', `tollgate credential pepper ${PEPPER_VERSION}`, 32)
    this.#pepper = createSecretKey(Buffer.from(pepper))
  }

  /** HMAC-SHA-256, 32 bytes. */
  hash(credential: string): Buffer {
    return createHmac('sha256', this.#pepper).update(credential).digest()
  }
}
