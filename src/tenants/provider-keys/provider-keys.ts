import { Loop } from '#lib/loop.ts'
import type { Vault } from '#lib/vault.ts'
import type { Database } from '#storage/database.ts'
import { Recollection } from '../recollection.ts'
import type { OpenProviderKey } from './provider-key.ts'
import { disableProviderKey, readOpenProviderKeys, recordUses } from './store.ts'

const WORKSPACES_MAX = 20_000
/** How far behind `last_used_at` may be. */
const USES_RECORDED_MS = 5_000

export interface ProviderKeysOptions {
  readonly database: Database
  readonly vault: Vault
  /** How far this node's knowledge of changes lags behind the database. */
  feedLagMs(): number
  /** A key was refused and is not tried again. */
  onDisabled(key: OpenProviderKey, reason: string): void
  onError(error: unknown, duty: string): void
}

/**
 * The provider keys that requests meet: a workspace's together, opened, in memory. A request of a workspace that was
 * seen before waits for nothing.
 */
export class ProviderKeys {
  readonly #options: ProviderKeysOptions
  readonly #workspaces: Recollection<readonly OpenProviderKey[]>
  readonly #uses = new Map<string, Date>()
  readonly #recording: Loop

  constructor(options: ProviderKeysOptions) {
    this.#options = options
    this.#workspaces = new Recollection({
      what: 'provider keys',
      max: WORKSPACES_MAX,
      feedLagMs: () => options.feedLagMs(),
    })
    this.#recording = new Loop({
      name: 'recording of provider key uses',
      intervalMs: USES_RECORDED_MS,
      runOnce: () => this.#recordUses(),
      onError: options.onError,
    })
  }

  start(): void {
    this.#recording.start()
  }

  async stop(): Promise<void> {
    await this.#recording.stop()
    await this.#recordUses().catch(error => this.#options.onError(error, 'recording of provider key uses'))
  }

  /** All of a workspace's that are not switched off, in the order in which they are tried. */
  of(workspaceId: string): readonly OpenProviderKey[] | Promise<readonly OpenProviderKey[]> {
    const { database, vault } = this.#options
    return (
      this.#workspaces.get(workspaceId) ??
      this.#workspaces.read(workspaceId, () => readOpenProviderKeys(database, vault, workspaceId))
    )
  }

  /** A workspace's keys have changed. */
  forget(workspaceId: string): void {
    this.#workspaces.forget((_keys, id) => id === workspaceId)
  }

  /** A key was presented to its provider. */
  noteUse({ id }: OpenProviderKey): void {
    this.#uses.set(id, new Date())
  }

  /** The provider refused a key. Requests do not wait for this. */
  noteRefusal(key: OpenProviderKey, reason: string): void {
    const { database, vault, onDisabled, onError } = this.#options
    database
      .transaction()
      .execute(transaction => disableProviderKey(transaction, vault, key, reason))
      .then(isDisabled => {
        if (isDisabled) onDisabled(key, reason)
      })
      .catch(error => onError(error, 'disabling of a provider key'))
  }

  async #recordUses(): Promise<void> {
    if (this.#uses.size === 0) return
    const uses = new Map(this.#uses)
    await recordUses(this.#options.database, uses)
    for (const [id, at] of uses) if (this.#uses.get(id) === at) this.#uses.delete(id)
  }
}
