import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'

/** A text that only its vault can read, as it is stored. */
export interface Sealed {
  /** Nonce, tag and ciphertext. */
  readonly box: Buffer
  /** Names the key that it was sealed under. */
  readonly keyId: string
}

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const KEY_ID_BYTES = 8
/** 96 random bits, as NIST SP 800-38D wants them: safe for 2³² boxes under one key. */
const NONCE_BYTES = 12
const TAG_BYTES = 16

interface VaultKey {
  readonly id: string
  readonly key: KeyObject
}

/**
 * Encryption at rest (AES-256-GCM). A box opens only at the place that it was sealed for, so that one which was copied
 * to another row opens as little as one with a bit turned. Keys are named by a fingerprint rather than counted: nodes
 * that were given the same secrets agree without asking anyone which key a box needs.
 */
export class Vault {
  readonly #current: VaultKey
  readonly #keys: ReadonlyMap<string, KeyObject>

  /**
   * @param secret what boxes are sealed under from now on
   * @param former secrets of before, whose boxes still open
   */
  constructor(secret: string, former: readonly string[] = []) {
    this.#current = deriveKey(secret)
    this.#keys = new Map([this.#current, ...former.map(deriveKey)].map(({ id, key }) => [id, key]))
  }

  /** Whoever finds a box with another id may seal its text anew. */
  get keyId(): string {
    return this.#current.id
  }

  /** @param place what names the one spot where the box belongs, e.g. a table, a row and a column */
  seal(text: string, place: readonly string[]): Sealed {
    const { id, key } = this.#current
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(encodePlace(place, id))
    const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return { box: Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]), keyId: id }
  }

  /** @throws when the box belongs elsewhere, was changed, or was sealed under a secret that is not known here */
  open({ box, keyId }: Sealed, place: readonly string[]): string {
    const key = this.#keys.get(keyId)
    if (!key) throw new Error(`sealed under key ${keyId}, which is not known here`)
    const nonce = box.subarray(0, NONCE_BYTES)
    const tag = box.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(encodePlace(place, keyId))
      .setAuthTag(tag)
    return decipher.update(box.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
  }
}

function deriveKey(secret: string): VaultKey {
  const derive = (purpose: string, bytes: number) => Buffer.from(hkdfSync('sha256', secret, '', purpose, bytes))
  return {
    id: derive('tollgate vault key id', KEY_ID_BYTES).toString('hex'),
    key: createSecretKey(derive('tollgate vault key', KEY_BYTES)),
  }
}

/** JSON, because joined texts could be cut elsewhere. */
function encodePlace(place: readonly string[], keyId: string): Buffer {
  return Buffer.from(JSON.stringify([...place, keyId]))
}
