import { type RawBuilder, sql } from 'kysely'
import { isId, newId } from '#lib/ids.ts'
import type { Vault } from '#lib/vault.ts'
import { announceChange } from '#storage/changes.ts'
import type { Database, DatabaseTransaction } from '#storage/database.ts'
import {
  hintOf,
  type OpenProviderKey,
  type ProviderKey,
  type ProviderKeySettings,
  type TestOutcome,
} from './provider-key.ts'

/** Topic of the change feed; its subjects are workspaces, whose keys are cached together. */
export const PROVIDER_KEYS_TOPIC = 'provider-keys'

export interface ProviderKeyInput extends ProviderKeySettings {
  readonly workspaceId: string
  readonly provider: string
  readonly baseUrl: string | undefined
  readonly secret: string
}

const TABLE = 'provider_keys'

/** Where a secret belongs: moved to another row, another tenant's above all, it does not open. */
function placeOf({ organizationId, id }: Pick<ProviderKey, 'organizationId' | 'id'>): readonly string[] {
  return [TABLE, organizationId, id, 'secret']
}

export async function createProviderKey(
  transaction: DatabaseTransaction,
  vault: Vault,
  { workspaceId, provider, baseUrl, secret, ...settings }: ProviderKeyInput,
): Promise<ProviderKey> {
  const id = newId('pkey')
  const organizationId = await organizationOf(transaction, workspaceId)
  const { box, keyId } = vault.seal(secret, placeOf({ organizationId, id }))
  await sql`
    insert into provider_keys (id, workspace_id, provider, base_url, secret, secret_key_id, hint, status,
                               name, models, upstream_models, priority, fallback)
    values (${id}, ${workspaceId}, ${provider}, ${baseUrl ?? null}, ${box}, ${keyId}, ${hintOf(secret)}, 'active',
            ${settings.name}, ${settings.models ?? null}, ${JSON.stringify(settings.upstreamModels)}::jsonb,
            ${settings.priority}, ${settings.fallback})
  `.execute(transaction)
  await announceChange(transaction, PROVIDER_KEYS_TOPIC, workspaceId)
  return (await findProviderKey(transaction, workspaceId, id)) as ProviderKey
}

async function organizationOf(transaction: DatabaseTransaction, workspaceId: string): Promise<string> {
  const { rows } = await sql<{ organizationId: string }>`
    select organization_id as "organizationId" from workspaces where id = ${workspaceId}
  `.execute(transaction)
  if (!rows[0]) throw new Error(`there is no workspace ${workspaceId}`)
  return rows[0].organizationId
}

/** A setting that is there and `undefined` is cleared. */
export type ProviderKeyChanges = Partial<ProviderKeySettings> & { readonly status?: 'active' | 'inactive' }

/** The key must be locked. */
export function updateProviderKey(
  transaction: DatabaseTransaction,
  key: ProviderKey,
  { status, ...settings }: ProviderKeyChanges,
): Promise<ProviderKey> {
  const assignments = Object.entries(settings).map(
    ([name, value]) => sql`${sql.raw(SETTING_COLUMNS[name as keyof ProviderKeySettings])} = ${toColumn(value)}`,
  )
  return change(transaction, key, [...assignments, ...(status ? [withStatus(status)] : [])])
}

const SETTING_COLUMNS: Readonly<Record<keyof ProviderKeySettings, string>> = Object.freeze({
  name: 'name',
  models: 'models',
  upstreamModels: 'upstream_models',
  priority: 'priority',
  fallback: 'fallback',
})

function toColumn(value: unknown): unknown {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isRecord ? JSON.stringify(value) : (value ?? null)
}

/** What an owner says of a key ends what its provider said. */
function withStatus(status: 'active' | 'inactive'): RawBuilder<unknown> {
  return sql`status = ${status}, disabled_reason = null, disabled_at = null`
}

/** Gives a key another secret, with which it is tried again if it had been refused. The key must be locked. */
export function rotateProviderKey(
  transaction: DatabaseTransaction,
  vault: Vault,
  key: ProviderKey,
  secret: string,
): Promise<ProviderKey> {
  const { box, keyId } = vault.seal(secret, placeOf(key))
  const status = key.status === 'disabled' ? 'active' : key.status
  return change(transaction, key, [
    sql`secret = ${box}, secret_key_id = ${keyId}, hint = ${hintOf(secret)}`,
    sql`last_tested_at = null, last_test = null`,
    withStatus(status),
  ])
}

async function change(
  transaction: DatabaseTransaction,
  { id, workspaceId }: ProviderKey,
  assignments: readonly RawBuilder<unknown>[],
): Promise<ProviderKey> {
  await sql`
    update provider_keys set ${sql.join([sql`id = id`, ...assignments])} where id = ${id}
  `.execute(transaction)
  await announceChange(transaction, PROVIDER_KEYS_TOPIC, workspaceId)
  return (await findProviderKey(transaction, workspaceId, id)) as ProviderKey
}

/**
 * The provider refused a key: it is not tried again until its owner does something about it.
 *
 * @param key as it was when it was refused: one that has another secret by now was not
 * @returns whether it was active
 */
export async function disableProviderKey(
  transaction: DatabaseTransaction,
  vault: Vault,
  key: OpenProviderKey,
  reason: string,
): Promise<boolean> {
  const { rows } = await sql<SecretRow>`
    select secret as box, secret_key_id as "keyId" from provider_keys
    where id = ${key.id} and status = 'active' for no key update
  `.execute(transaction)
  const [row] = rows
  if (!row || openSecret(vault, key, row) !== key.secret) return false
  await change(transaction, key, [sql`status = 'disabled', disabled_reason = ${reason}, disabled_at = now()`])
  return true
}

export async function deleteProviderKey(transaction: DatabaseTransaction, key: ProviderKey): Promise<void> {
  await sql`delete from provider_keys where id = ${key.id}`.execute(transaction)
  await announceChange(transaction, PROVIDER_KEYS_TOPIC, key.workspaceId)
}

/** Nothing that a node remembers of the key changes with this. */
export async function recordTest(database: Database, id: string, outcome: TestOutcome): Promise<void> {
  await sql`
    update provider_keys set last_tested_at = now(), last_test = ${outcome} where id = ${id}
  `.execute(database)
}

/** The same for the times when keys were last presented, in the order of their ids: two nodes never wait crosswise. */
export async function recordUses(database: Database, uses: ReadonlyMap<string, Date>): Promise<void> {
  const ids = [...uses.keys()].toSorted()
  const times = ids.map(id => uses.get(id))
  await sql`
    with used as (select * from unnest(${ids}::text[], ${times}::timestamptz[]) as used (id, at)),
    locked as (select k.id from provider_keys k join used using (id) order by k.id for no key update of k)
    update provider_keys k set last_used_at = greatest(k.last_used_at, used.at)
    from used join locked using (id) where k.id = used.id
  `.execute(database)
}

type Nullable<T> = { readonly [K in keyof T]: undefined extends T[K] ? Exclude<T[K], undefined> | null : T[K] }
type ProviderKeyRow = Nullable<ProviderKey>

const COLUMNS = sql`
  k.id, k.workspace_id as "workspaceId", w.organization_id as "organizationId", k.name, k.provider,
  k.base_url as "baseUrl", k.hint, k.models, k.upstream_models as "upstreamModels", k.priority, k.fallback, k.status,
  k.disabled_reason as "disabledReason", k.disabled_at as "disabledAt", k.last_used_at as "lastUsedAt",
  k.last_tested_at as "lastTestedAt", k.last_test as "lastTest", k.created_at as "createdAt"`

const FROM = sql`from provider_keys k join workspaces w on w.id = k.workspace_id`

function fromRow(row: ProviderKeyRow): ProviderKey {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? undefined])) as never
}

/** A key of one workspace; another workspace's key is as unknown as one that never was. */
export async function findProviderKey(
  database: Database,
  workspaceId: string,
  id: string,
): Promise<ProviderKey | undefined> {
  return select(database, workspaceId, id, sql``)
}

/**
 * Keeps a key as it is until the transaction ends.
 *
 * @param workspaceId whose key it must be; `undefined` for the operator, who may change all
 */
export async function lockProviderKey(
  transaction: DatabaseTransaction,
  workspaceId: string | undefined,
  id: string,
): Promise<ProviderKey | undefined> {
  return select(transaction, workspaceId, id, sql`for no key update of k`)
}

async function select(
  database: Database,
  workspaceId: string | undefined,
  id: string,
  lock: RawBuilder<unknown>,
): Promise<ProviderKey | undefined> {
  if (!isId('pkey', id)) return undefined
  const { rows } = await sql<ProviderKeyRow>`
    select ${COLUMNS} ${FROM}
    where k.id = ${id} and k.workspace_id = coalesce(${workspaceId ?? null}, k.workspace_id) ${lock}
  `.execute(database)
  return rows[0] && fromRow(rows[0])
}

export async function listProviderKeys(database: Database, workspaceIds: readonly string[]): Promise<ProviderKey[]> {
  const { rows } = await sql<ProviderKeyRow>`
    select ${COLUMNS} ${FROM} where k.workspace_id = any(${workspaceIds}) order by k.created_at, k.id
  `.execute(database)
  return rows.map(fromRow)
}

/** Some of a workspace's keys, newest first. @param after the key that the page before ended with */
export async function pageProviderKeys(
  database: Database,
  workspaceId: string,
  { after, limit }: { after: ProviderKey | undefined; limit: number },
): Promise<ProviderKey[]> {
  const older = after
    ? sql`and (k.created_at, k.id) < (select created_at, id from provider_keys where id = ${after.id})`
    : sql``
  const { rows } = await sql<ProviderKeyRow>`
    select ${COLUMNS} ${FROM} where k.workspace_id = ${workspaceId} ${older}
    order by k.created_at desc, k.id desc limit ${limit}
  `.execute(database)
  return rows.map(fromRow)
}

interface SecretRow {
  readonly box: Buffer
  readonly keyId: string
}

/** A key with what it takes to use it, for its own workspace. */
export async function openProviderKey(database: Database, vault: Vault, key: ProviderKey): Promise<OpenProviderKey> {
  const { rows } = await sql<SecretRow>`
    select secret as box, secret_key_id as "keyId" from provider_keys where id = ${key.id}
  `.execute(database)
  return { ...key, secret: rows[0] && openSecret(vault, key, rows[0]) }
}

/** Those keys of a workspace that its requests may meet, in the order in which they are tried. */
export async function readOpenProviderKeys(
  database: Database,
  vault: Vault,
  workspaceId: string,
): Promise<OpenProviderKey[]> {
  const { rows } = await sql<ProviderKeyRow & SecretRow>`
    select ${COLUMNS}, k.secret as box, k.secret_key_id as "keyId" ${FROM}
    where k.workspace_id = ${workspaceId} and k.status <> 'inactive' order by k.priority, k.created_at, k.id
  `.execute(database)
  return rows.map(({ box, keyId, ...row }) => {
    const key = fromRow(row)
    return { ...key, secret: openSecret(vault, key, { box, keyId }) }
  })
}

function openSecret(vault: Vault, key: Parameters<typeof placeOf>[0], sealed: SecretRow): string | undefined {
  try {
    return vault.open(sealed, placeOf(key))
  } catch {
    return undefined
  }
}
