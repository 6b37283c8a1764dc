import { type RawBuilder, sql } from 'kysely'
import { canonicalDecimal } from '#core/money.ts'
import { isId, newId } from '#lib/ids.ts'
import { announceChange } from '#storage/changes.ts'
import type { Database, DatabaseTransaction } from '#storage/database.ts'
import { type CredentialHasher, mintCredential, PEPPER_VERSION, shownPrefix } from './credential.ts'
import type { DeliveryPolicy, Manager, OrganizationRole } from './principal.ts'

/** Topics of the change feed that make nodes forget what they know of a caller. */
const TENANT_TOPICS = Object.freeze({
  apiKey: 'api-key',
  managementToken: 'management-token',
  organization: 'organization',
})

export interface Organization {
  readonly id: string
  readonly name: string
  readonly role: OrganizationRole
  /** `undefined`: as the role has it. */
  readonly requestsPerMinute: number | undefined
  readonly createdAt: Date
}

export interface Workspace {
  readonly id: string
  readonly organizationId: string
  readonly name: string
}

export type ApiKeyStatus = 'active' | 'inactive' | 'revoked'

export interface ApiKey {
  readonly id: string
  readonly workspaceId: string
  readonly name: string
  readonly keyPrefix: string
  readonly status: ApiKeyStatus
  readonly models: readonly string[] | undefined
  /** US dollars as a decimal; `undefined`: no limit of its own. */
  readonly limitAmount: string | undefined
  readonly expiresAt: Date | undefined
  /** `undefined`: the workspace's default. */
  readonly deliveryPolicy: DeliveryPolicy | undefined
  /** `undefined`: as the organization has it. */
  readonly requestsPerMinute: number | undefined
  readonly createdAt: Date
}

export interface ManagementToken {
  readonly id: string
  readonly workspaceId: string
  readonly name: string
  readonly tokenPrefix: string
  readonly createdAt: Date
  readonly revokedAt: Date | undefined
}

export async function countOrganizations(database: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) from organizations`.execute(database)
  return rows[0]?.count ?? 0
}

/** An organization with one workspace of the same name. @throws the unique violation when the name is taken */
export async function createOrganization(
  transaction: DatabaseTransaction,
  { name, role }: { name: string; role: OrganizationRole },
): Promise<{ organization: Organization; workspace: Workspace }> {
  const organization: Organization = {
    id: newId('org'),
    name,
    role,
    requestsPerMinute: undefined,
    createdAt: new Date(),
  }
  await sql`
    insert into organizations (id, name, role, created_at)
    values (${organization.id}, ${name}, ${role}, ${organization.createdAt})
  `.execute(transaction)
  const workspace = await createWorkspace(transaction, { organizationId: organization.id, name: 'default' })
  return { organization, workspace }
}

async function createWorkspace(
  transaction: DatabaseTransaction,
  { organizationId, name }: { organizationId: string; name: string },
): Promise<Workspace> {
  const workspace: Workspace = { id: newId('ws'), organizationId, name }
  await sql`
    insert into workspaces (id, organization_id, name) values (${workspace.id}, ${organizationId}, ${name})
  `.execute(transaction)
  return workspace
}

type OrganizationRow = Omit<Organization, 'requestsPerMinute'> & { readonly requestsPerMinute: number | null }

const ORGANIZATION_COLUMNS = sql`
  id, name, role, requests_per_minute as "requestsPerMinute", created_at as "createdAt"`

function fromOrganizationRow(row: OrganizationRow): Organization {
  return { ...row, requestsPerMinute: row.requestsPerMinute ?? undefined }
}

export async function listOrganizations(database: Database): Promise<Organization[]> {
  const { rows } = await sql<OrganizationRow>`
    select ${ORGANIZATION_COLUMNS} from organizations order by created_at, id
  `.execute(database)
  return rows.map(fromOrganizationRow)
}

/** By id or by name. */
export async function findOrganization(database: Database, idOrName: string): Promise<Organization | undefined> {
  const { rows } = await sql<OrganizationRow>`
    select ${ORGANIZATION_COLUMNS} from organizations where id = ${idOrName} or name = ${idOrName}
  `.execute(database)
  return rows[0] && fromOrganizationRow(rows[0])
}

export async function setOrganizationRole(
  transaction: DatabaseTransaction,
  organizationId: string,
  role: OrganizationRole,
): Promise<void> {
  await sql`update organizations set role = ${role} where id = ${organizationId}`.execute(transaction)
  await announceChange(transaction, TENANT_TOPICS.organization, organizationId)
}

/** @param requestsPerMinute `undefined`: as the role has it */
export async function setOrganizationRate(
  transaction: DatabaseTransaction,
  organizationId: string,
  requestsPerMinute: number | undefined,
): Promise<void> {
  await sql`
    update organizations set requests_per_minute = ${requestsPerMinute ?? null} where id = ${organizationId}
  `.execute(transaction)
  await announceChange(transaction, TENANT_TOPICS.organization, organizationId)
}

export async function listWorkspaces(database: Database, organizationId: string): Promise<Workspace[]> {
  const { rows } = await sql<Workspace>`
    select id, organization_id as "organizationId", name from workspaces
    where organization_id = ${organizationId} order by created_at, id
  `.execute(database)
  return rows
}

/** What an owner may say of a key. */
export interface ApiKeySettings {
  readonly name: string
  readonly models: readonly string[] | undefined
  readonly limitAmount: string | undefined
  readonly expiresAt: Date | undefined
  readonly deliveryPolicy: DeliveryPolicy | undefined
  readonly requestsPerMinute: number | undefined
}

export type ApiKeyInput = Pick<ApiKeySettings, 'name'> & Partial<ApiKeySettings> & { readonly workspaceId: string }

/** @returns the key's id, and the credential itself for the only time */
export async function createApiKey(
  transaction: DatabaseTransaction,
  hasher: CredentialHasher,
  { workspaceId, ...settings }: ApiKeyInput,
): Promise<{ id: string; credential: string }> {
  const id = newId('key')
  const credential = mintCredential('sk')
  const given = settingColumns(settings)
  const columns = given.map(({ column }) => column)
  const values = given.map(({ value }) => value)
  await sql`
    insert into api_keys (id, workspace_id, key_prefix, key_hash, pepper_version, ${sql.join(columns)})
    values (${id}, ${workspaceId}, ${shownPrefix(credential)}, ${hasher.hash(credential)}, ${PEPPER_VERSION},
            ${sql.join(values)})
  `.execute(transaction)
  await announceChange(transaction, TENANT_TOPICS.apiKey, id)
  return { id, credential }
}

/** What may change of a key that is not revoked. A setting that is there and `undefined` is cleared. */
export type ApiKeyChanges = Partial<ApiKeySettings> & { readonly status?: Exclude<ApiKeyStatus, 'revoked'> }

/** The key must be locked and not revoked. */
export async function updateApiKey(
  transaction: DatabaseTransaction,
  keyId: string,
  changes: ApiKeyChanges,
): Promise<ApiKey> {
  const assignments = settingColumns(changes).map(({ column, value }) => sql`${column} = ${value}`)
  const { rows } = await sql<ApiKeyRow>`
    update api_keys set ${sql.join([sql`id = id`, ...assignments])} where id = ${keyId} returning ${API_KEY_COLUMNS}
  `.execute(transaction)
  await announceChange(transaction, TENANT_TOPICS.apiKey, keyId)
  return fromApiKeyRow(rows[0] as ApiKeyRow)
}

/** Columns whose values are written as they are, but for `undefined`, which is null there. */
const SETTING_COLUMNS: Readonly<Record<keyof ApiKeyChanges, string>> = Object.freeze({
  name: 'name',
  status: 'status',
  models: 'models',
  limitAmount: 'limit_amount',
  expiresAt: 'expires_at',
  deliveryPolicy: 'delivery_policy',
  requestsPerMinute: 'requests_per_minute',
})

/** The settings that are there, `undefined` or not. */
function settingColumns(settings: ApiKeyChanges): { column: RawBuilder<unknown>; value: unknown }[] {
  return Object.entries(settings).map(([name, value]) => ({
    column: sql.raw(SETTING_COLUMNS[name as keyof ApiKeyChanges]),
    value: value ?? null,
  }))
}

/**
 * Gives a key another credential; the old one is unknown from then on. The key must be locked and not revoked.
 *
 * @returns the new credential for the only time
 */
export async function rotateApiKey(
  transaction: DatabaseTransaction,
  hasher: CredentialHasher,
  keyId: string,
): Promise<{ key: ApiKey; credential: string }> {
  const credential = mintCredential('sk')
  const { rows } = await sql<ApiKeyRow>`
    update api_keys set key_prefix = ${shownPrefix(credential)}, key_hash = ${hasher.hash(credential)},
                        pepper_version = ${PEPPER_VERSION}
    where id = ${keyId} returning ${API_KEY_COLUMNS}
  `.execute(transaction)
  await announceChange(transaction, TENANT_TOPICS.apiKey, keyId)
  return { key: fromApiKeyRow(rows[0] as ApiKeyRow), credential }
}

/** @returns whether there was such a key that was not revoked yet */
export async function revokeApiKey(transaction: DatabaseTransaction, keyId: string): Promise<boolean> {
  const { rows } = await sql`
    update api_keys set status = 'revoked', revoked_at = now() where id = ${keyId} and status <> 'revoked' returning id
  `.execute(transaction)
  if (rows.length === 0) return false
  await announceChange(transaction, TENANT_TOPICS.apiKey, keyId)
  return true
}

interface ApiKeyRow {
  readonly id: string
  readonly workspace_id: string
  readonly name: string
  readonly key_prefix: string
  readonly status: ApiKeyStatus
  readonly models: string[] | null
  readonly limit_amount: string | null
  readonly expires_at: Date | null
  readonly delivery_policy: DeliveryPolicy | null
  readonly requests_per_minute: number | null
  readonly created_at: Date
}

const API_KEY_COLUMNS = sql`
  id, workspace_id, name, key_prefix, status, models, limit_amount, expires_at, delivery_policy, requests_per_minute,
  created_at`

function fromApiKeyRow(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    keyPrefix: row.key_prefix,
    status: row.status,
    models: row.models ?? undefined,
    limitAmount: row.limit_amount === null ? undefined : canonicalDecimal(row.limit_amount),
    expiresAt: row.expires_at ?? undefined,
    deliveryPolicy: row.delivery_policy ?? undefined,
    requestsPerMinute: row.requests_per_minute ?? undefined,
    createdAt: row.created_at,
  }
}

/** A key of one workspace; another workspace's key is as unknown as one that never was. */
export async function findApiKey(database: Database, workspaceId: string, keyId: string): Promise<ApiKey | undefined> {
  if (!isId('key', keyId)) return undefined
  const { rows } = await sql<ApiKeyRow>`
    select ${API_KEY_COLUMNS} from api_keys where id = ${keyId} and workspace_id = ${workspaceId}
  `.execute(database)
  return rows[0] && fromApiKeyRow(rows[0])
}

/**
 * Keeps a key as it is until the transaction ends.
 *
 * @param workspaceId whose key it must be; `undefined` for the operator, who may change all
 */
export async function lockApiKey(
  transaction: DatabaseTransaction,
  workspaceId: string | undefined,
  keyId: string,
): Promise<ApiKey | undefined> {
  if (!isId('key', keyId)) return undefined
  const { rows } = await sql<ApiKeyRow>`
    select ${API_KEY_COLUMNS} from api_keys
    where id = ${keyId} and workspace_id = coalesce(${workspaceId ?? null}, workspace_id)
    for no key update
  `.execute(transaction)
  return rows[0] && fromApiKeyRow(rows[0])
}

export async function listApiKeys(database: Database, workspaceIds: readonly string[]): Promise<ApiKey[]> {
  const { rows } = await sql<ApiKeyRow>`
    select ${API_KEY_COLUMNS} from api_keys where workspace_id = any(${workspaceIds}) order by created_at, id
  `.execute(database)
  return rows.map(fromApiKeyRow)
}

/** Some of a workspace's keys, newest first. @param after the key that the page before ended with */
export async function pageApiKeys(
  database: Database,
  workspaceId: string,
  { after, limit }: { after: ApiKey | undefined; limit: number },
): Promise<ApiKey[]> {
  const older = after ? sql`and (created_at, id) < (select created_at, id from api_keys where id = ${after.id})` : sql``
  const { rows } = await sql<ApiKeyRow>`
    select ${API_KEY_COLUMNS} from api_keys where workspace_id = ${workspaceId} ${older}
    order by created_at desc, id desc limit ${limit}
  `.execute(database)
  return rows.map(fromApiKeyRow)
}

/** @returns the token's id, and the credential itself for the only time */
export async function createManagementToken(
  transaction: DatabaseTransaction,
  hasher: CredentialHasher,
  { workspaceId, name }: { workspaceId: string; name: string },
): Promise<{ id: string; credential: string }> {
  const id = newId('mtok')
  const credential = mintCredential('mt')
  await sql`
    insert into management_tokens (id, workspace_id, name, token_prefix, token_hash, pepper_version)
    values (${id}, ${workspaceId}, ${name}, ${shownPrefix(credential)}, ${hasher.hash(credential)}, ${PEPPER_VERSION})
  `.execute(transaction)
  await announceChange(transaction, TENANT_TOPICS.managementToken, id)
  return { id, credential }
}

/** @returns whether there was such a token that was not revoked yet */
export async function revokeManagementToken(transaction: DatabaseTransaction, tokenId: string): Promise<boolean> {
  const { rows } = await sql`
    update management_tokens set revoked_at = now() where id = ${tokenId} and revoked_at is null returning id
  `.execute(transaction)
  if (rows.length === 0) return false
  await announceChange(transaction, TENANT_TOPICS.managementToken, tokenId)
  return true
}

export async function listManagementTokens(
  database: Database,
  workspaceIds: readonly string[],
): Promise<ManagementToken[]> {
  const { rows } = await sql<Omit<ManagementToken, 'revokedAt'> & { revokedAt: Date | null }>`
    select id, workspace_id as "workspaceId", name, token_prefix as "tokenPrefix", created_at as "createdAt",
           revoked_at as "revokedAt"
    from management_tokens where workspace_id = any(${workspaceIds}) order by created_at, id
  `.execute(database)
  return rows.map(row => ({ ...row, revokedAt: row.revokedAt ?? undefined }))
}

/** What authentication needs of a key, by its hash. */
export interface ApiKeyIdentity {
  readonly keyId: string
  readonly workspaceId: string
  readonly organizationId: string
  readonly role: OrganizationRole
  readonly models: string[] | null
  readonly status: ApiKeyStatus
  readonly expiresAt: Date | null
  readonly isLimited: boolean
  readonly requestsPerMinute: number | null
  readonly organizationRequestsPerMinute: number | null
}

export async function identifyApiKey(database: Database, hash: Buffer): Promise<ApiKeyIdentity | undefined> {
  const { rows } = await sql<ApiKeyIdentity>`
    select k.id as "keyId", k.workspace_id as "workspaceId", w.organization_id as "organizationId", o.role,
           k.models, k.status, k.expires_at as "expiresAt", k.limit_amount is not null as "isLimited",
           k.requests_per_minute as "requestsPerMinute", o.requests_per_minute as "organizationRequestsPerMinute"
    from api_keys k
    join workspaces w on w.id = k.workspace_id
    join organizations o on o.id = w.organization_id
    where k.key_hash = ${hash} and k.pepper_version = ${PEPPER_VERSION}
  `.execute(database)
  return rows[0]
}

/** What authentication needs of a token, by its hash. */
export interface ManagementTokenIdentity extends Omit<Manager, 'organizationRequestsPerMinute'> {
  readonly organizationRequestsPerMinute: number | null
  readonly isRevoked: boolean
}

export async function identifyManagementToken(
  database: Database,
  hash: Buffer,
): Promise<ManagementTokenIdentity | undefined> {
  const { rows } = await sql<ManagementTokenIdentity>`
    select t.id as "tokenId", t.workspace_id as "workspaceId", w.organization_id as "organizationId", o.role,
           o.requests_per_minute as "organizationRequestsPerMinute", t.revoked_at is not null as "isRevoked"
    from management_tokens t
    join workspaces w on w.id = t.workspace_id
    join organizations o on o.id = w.organization_id
    where t.token_hash = ${hash} and t.pepper_version = ${PEPPER_VERSION}
  `.execute(database)
  return rows[0]
}
