/** Where requests go that a provider key was to serve and could not. */
export const FALLBACKS = ['none', 'platform'] as const
export type Fallback = (typeof FALLBACKS)[number]

/** `inactive`: its owner switched it off. `disabled`: its provider refused it, and its owner has to do something. */
export type ProviderKeyStatus = 'active' | 'inactive' | 'disabled'

/** What its owner may say of a provider key, at its creation and later. */
export interface ProviderKeySettings {
  readonly name: string
  /** Public model ids that it serves; `undefined`: those that the platform reaches at the same address. */
  readonly models: readonly string[] | undefined
  /** What the provider calls a model, by its public id, where that is not what the platform's channel calls it. */
  readonly upstreamModels: Readonly<Record<string, string>>
  /** Lower is tried first. */
  readonly priority: number
  readonly fallback: Fallback
}

/** What became of the last try whether the provider takes the key. */
export const TEST_OUTCOMES = ['ok', 'refused', 'unreachable', 'failed', 'untestable'] as const
export type TestOutcome = (typeof TEST_OUTCOMES)[number]

/** An account at a provider that a customer brought, without its secret. */
export interface ProviderKey extends ProviderKeySettings {
  readonly id: string
  readonly workspaceId: string
  readonly organizationId: string
  /** Name of an adapter in `src/providers`. */
  readonly provider: string
  /** `undefined`: the provider's own. */
  readonly baseUrl: string | undefined
  /** How its secret ends. */
  readonly hint: string
  readonly status: ProviderKeyStatus
  readonly disabledReason: string | undefined
  readonly disabledAt: Date | undefined
  readonly lastUsedAt: Date | undefined
  readonly lastTestedAt: Date | undefined
  readonly lastTest: TestOutcome | undefined
  readonly createdAt: Date
}

/** One that may be presented to its provider. It stays in memory. */
export interface OpenProviderKey extends ProviderKey {
  /** `undefined`: what is stored cannot be read. */
  readonly secret: string | undefined
}

const HINT_CHARACTERS = 4
/** Of a shorter secret the hint would be too much. */
const HINTED_CHARACTERS_MIN = 16

/** The end of a secret by which its owner recognises it; of a credential of several parts there is none. */
export function hintOf(secret: string): string {
  const isWorthOne = secret.length >= HINTED_CHARACTERS_MIN && !secret.startsWith('{')
  return isWorthOne ? secret.slice(-HINT_CHARACTERS) : ''
}
