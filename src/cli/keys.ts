import { type Command, Option } from 'commander'
import { ConfigError } from '#app/config/config-error.ts'
import { canonicalDecimal } from '#core/money.ts'
import { keyStatus } from '#management/key-status.ts'
import { readKeyUsages } from '#quota/store.ts'
import type { Database, DatabaseTransaction } from '#storage/database.ts'
import { DELIVERY_POLICIES, type DeliveryPolicy } from '#tenants/principal.ts'
import {
  type ApiKey,
  type ApiKeyChanges,
  createApiKey,
  listApiKeys,
  listWorkspaces,
  lockApiKey,
  revokeApiKey,
  rotateApiKey,
  updateApiKey,
} from '#tenants/store.ts'
import { parseAmount } from './amount.ts'
import { organizationNamed, workspaceNamed } from './named.ts'
import { parseRate } from './rate.ts'
import { printTable } from './table.ts'
import { withDatabase } from './with-database.ts'

const NAME_DEFAULT = 'Default Key'

interface PlaceOptions {
  readonly org: string
  readonly workspace: string
}

/** Clears what was said before. A symbol, because the parser of options takes `null` for an option without a value. */
const NONE = Symbol('none')

/** What may be said of a key, at its creation and later. */
interface SettingOptions {
  readonly name?: string
  readonly models?: string[] | typeof NONE
  readonly limit?: string | typeof NONE
  readonly expires?: Date | typeof NONE
  readonly delivery?: DeliveryPolicy | typeof NONE
  readonly rate?: number | typeof NONE
}

export function addKeys(program: Command): void {
  const keys = program.command('keys').description('API keys')
  addList(keys)
  addCreate(keys)
  addUpdate(keys)
  addRotate(keys)
  addRevoke(keys)
}

function addList(keys: Command): void {
  keys
    .command('list')
    .description("list an organization's keys")
    .option('--org <organization>', 'id or name', 'default')
    .action(({ org }: PlaceOptions) =>
      withDatabase(async ({ database }) => {
        const { id } = await organizationNamed(database, org)
        const workspaces = await listWorkspaces(database, id)
        const listed = await listApiKeys(
          database,
          workspaces.map(workspace => workspace.id),
        )
        const usages = await readKeyUsages(
          database,
          listed.map(key => key.id),
        )
        const usedBy = (key: ApiKey) => canonicalDecimal(usages.get(key.id)?.usedAmount ?? '0')
        const rows = listed.map(key => [
          key.id,
          key.name,
          `${key.keyPrefix}…`,
          keyStatus(key, usedBy(key)),
          `${usedBy(key)} USD`,
          key.limitAmount === undefined ? '-' : `${key.limitAmount} USD`,
          key.models?.join(',') ?? 'all',
          key.expiresAt?.toISOString() ?? '-',
          key.deliveryPolicy ?? '-',
          key.requestsPerMinute === undefined ? '-' : `${key.requestsPerMinute}/min`,
        ])
        printTable(['ID', 'NAME', 'PREFIX', 'STATUS', 'USED', 'LIMIT', 'MODELS', 'EXPIRES', 'DELIVERY', 'RATE'], rows)
      }),
    )
}

function addCreate(keys: Command): void {
  const create = keys
    .command('create')
    .description('create a key; it is shown once')
    .option('--org <organization>', 'id or name', 'default')
    .option('--workspace <workspace>', 'id or name', 'default')
  addSettings(create).action(({ org, workspace, ...settings }: PlaceOptions & SettingOptions) =>
    withDatabase(async ({ database, hasher }) => {
      if (settings.expires instanceof Date && settings.expires.getTime() <= Date.now()) {
        throw new ConfigError('--expires has passed already.')
      }
      const { id: workspaceId } = await workspaceNamed(database, org, workspace)
      const input = { name: NAME_DEFAULT, ...toChanges(settings), workspaceId }
      const { id, credential } = await database
        .transaction()
        .execute(transaction => createApiKey(transaction, hasher, input))
      printCredential(id, credential)
    }),
  )
}

function addUpdate(keys: Command): void {
  const update = keys
    .command('update')
    .description('change a key, on every node within a second; what is not given stays')
    .argument('<key>', 'id (key_…)')
    .addOption(new Option('--status <status>', 'switch it on or off').choices(['active', 'inactive']))
  addSettings(update).action(
    (id: string, { status, ...settings }: SettingOptions & { status?: 'active' | 'inactive' }) =>
      withDatabase(async ({ database }) => {
        const changes = { ...toChanges(settings), ...(status && { status }) }
        await changeKey(database, id, transaction => updateApiKey(transaction, id, changes))
        process.stdout.write(`${id} is changed.\n`)
      }),
  )
}

function addRotate(keys: Command): void {
  keys
    .command('rotate')
    .description('give a key another secret, shown once; the old one stops at once')
    .argument('<key>', 'id (key_…)')
    .action((id: string) =>
      withDatabase(async ({ database, hasher }) => {
        const { credential } = await changeKey(database, id, transaction => rotateApiKey(transaction, hasher, id))
        printCredential(id, credential)
      }),
    )
}

function addRevoke(keys: Command): void {
  keys
    .command('revoke')
    .description('revoke a key for good, on every node within a second')
    .argument('<key>', 'id (key_…)')
    .action((id: string) =>
      withDatabase(async ({ database }) => {
        const isRevoked = await database.transaction().execute(transaction => revokeApiKey(transaction, id))
        if (!isRevoked) throw new ConfigError(`There is no key "${id}" that could be revoked; see: tollgate keys list`)
        process.stdout.write(`${id} is revoked.\n`)
      }),
    )
}

/** The same settings under the same names wherever a key is described; `none` clears one. */
function addSettings(command: Command): Command {
  return command
    .option('--name <name>', 'what to call it')
    .option('--models <ids>', 'restrict it to these models, separated by commas; or none', orNone(parseModels))
    .option('--limit <usd>', 'stop it after this much spending, e.g. 25.50; or none', orNone(parseAmount))
    .option('--expires <time>', 'RFC 3339 time after which it is refused; or none', orNone(parseTime))
    .option('--delivery <policy>', `${DELIVERY_POLICIES.join(', ')}; or none`, orNone(parseDelivery))
    .option('--rate <requests>', 'requests a minute; or none', orNone(parseRate))
}

function orNone<T>(parse: (text: string) => T): (text: string) => T | typeof NONE {
  return text => (text === 'none' ? NONE : parse(text))
}

const SETTINGS = Object.freeze({
  name: 'name',
  models: 'models',
  limit: 'limitAmount',
  expires: 'expiresAt',
  delivery: 'deliveryPolicy',
  rate: 'requestsPerMinute',
} satisfies Record<keyof SettingOptions, keyof ApiKeyChanges>)

/** What was given, in the words of the store. */
function toChanges(options: SettingOptions): ApiKeyChanges {
  const given = Object.entries(options).map(([name, value]) => [
    SETTINGS[name as keyof SettingOptions],
    value === NONE ? undefined : value,
  ])
  return Object.fromEntries(given)
}

/** @throws ConfigError when there is no such key that could be changed */
function changeKey<T>(
  database: Database,
  id: string,
  change: (transaction: DatabaseTransaction) => Promise<T>,
): Promise<T> {
  return database.transaction().execute(async transaction => {
    const key = await lockApiKey(transaction, undefined, id)
    if (!key || key.status === 'revoked') {
      throw new ConfigError(`There is no key "${id}" that could be changed; see: tollgate keys list`)
    }
    return change(transaction)
  })
}

function printCredential(id: string, credential: string): void {
  process.stdout.write(`${id}\n${credential}\nKeep it now: it cannot be shown again.\n`)
}

function parseModels(text: string): string[] {
  return text.split(',').filter(Boolean)
}

function parseDelivery(text: string): DeliveryPolicy {
  const policy = DELIVERY_POLICIES.find(each => each === text)
  if (!policy) throw new ConfigError(`There is no delivery "${text}"; it is one of ${DELIVERY_POLICIES.join(', ')}.`)
  return policy
}

function parseTime(text: string): Date {
  const time = new Date(text)
  if (Number.isNaN(time.getTime())) throw new ConfigError(`"${text}" is no time like 2026-12-31T00:00:00Z.`)
  return time
}
