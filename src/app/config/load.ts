import { readFile } from 'node:fs/promises'
import { type Document, isNode, isScalar, LineCounter, parseDocument, visit, type YAMLParseError } from 'yaml'
import type { Thresholds } from '#budget-alerts/store.ts'
import {
  buildCatalog,
  type CatalogConfig,
  type CatalogProblem,
  type ProviderAddresses,
  parseDurationMs,
} from '#catalog/build.ts'
import type { Catalog, Model } from '#catalog/catalog.ts'
import { parseFee } from '#catalog/fee.ts'
import type { Fee } from '#catalog/price.ts'
import { violations } from '#core/validate.ts'
import type { Durability } from '#metering/meter.ts'
import { ROUTING_DEFAULT, type RoutingPolicy } from '#routing/policy.ts'
import type { RoleRates } from '#tenants/principal.ts'
import { type ChannelRules, checkChannels, fileSchema } from './channel-rules.ts'
import { ConfigError } from './config-error.ts'
import type { FileConfig } from './schema.ts'

/** The configuration file with every default filled in. */
export interface Config {
  readonly bootstrapCredit: string
  /** Of organizations that have no limit of their own. */
  readonly roleRates: RoleRates
  readonly showsRouting: boolean
  readonly routing: RoutingPolicy
  readonly durability: Durability
  /** How long responses are kept for those who may come back to them. */
  readonly responsesKeptMs: number
  /** Answers that are given again to the same request. */
  readonly cache: {
    readonly ttlSecondsDefault: number
    readonly ttlSecondsMax: number
    readonly bytesMax: number
    readonly answerBytesMax: number
  }
  readonly drainDeadlineMs: number
  readonly keepAliveMs: number
  readonly metricsToken: string | undefined
  /** When to tell that a balance or a key's limit runs out. */
  readonly alerts: Thresholds
  /** For requests that a customer's own provider key serves. */
  readonly byokFee: Fee
  /** No channel is declared: the sandbox serves. */
  readonly isSandbox: boolean
  readonly catalog: Catalog
  /** Every declared model as far as it could be read, also those that the catalog does not show. */
  readonly models: readonly Model[]
}

/** A configuration that may have mistakes in its channels, models and prices. */
export interface InspectedConfig {
  readonly config: Config
  readonly problems: readonly ConfigProblem[]
}

/** A mistake, and where it is: `tollgate.yaml:12`. */
export interface ConfigProblem extends Omit<CatalogProblem, 'path'> {
  readonly place: string
}

export interface LoadOptions {
  /** The adapters that exist, by name, and what their channels may say. */
  readonly providers: ProviderAddresses & ReadonlyMap<string, ChannelRules>
  readonly variables: Readonly<Record<string, string | undefined>>
}

const DEFAULT_FILE = 'tollgate.yaml'
const BOOTSTRAP_CREDIT_DEFAULT = '100'
/** Of the specification, section Limits. */
const ROLE_RATES_DEFAULT: RoleRates = Object.freeze({ user: 1_000, partner: 10_000, vip: 10_000 })
const RESPONSES_KEEP_DEFAULT = '30d'
const CACHE_DEFAULTS = Object.freeze({ ttl: '1h', ttl_max: '24h', size_max: '1GB', entry_max: '1MB' })
/** What is held in memory for each answer that may be kept. */
const CACHE_ENTRY_BYTES_MAX = 16 * 1024 * 1024
const DRAIN_DEADLINE_DEFAULT = '30s'
/** Well below the minute after which proxies commonly give up on a silent connection. */
const KEEP_ALIVE_DEFAULT = '15s'

/**
 * @param file as `TOLLGATE_CONFIG` names it; `undefined` for `tollgate.yaml` if it is there
 * @returns the text and where it came from; `undefined` when there is no file and none was asked for
 * @throws ConfigError when the named file cannot be read
 */
export async function readConfigFile(file: string | undefined): Promise<{ file: string; text: string } | undefined> {
  const name = file ?? DEFAULT_FILE
  try {
    return { file: name, text: await readFile(name, 'utf8') }
  } catch (error) {
    if (file === undefined && (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new ConfigError(`The configuration file ${name} cannot be read: ${(error as Error).message}`)
  }
}

/**
 * Reads a configuration text.
 *
 * @param source how error messages call it, usually the file's name
 * @throws ConfigError when the text cannot be understood at all
 */
export function inspectConfig(text: string, source: string, { providers, variables }: LoadOptions): InspectedConfig {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const at: PlaceOf = path => `${source}:${lineOf(document, lines, path)}`
  const [syntax] = document.errors
  if (syntax) throw new ConfigError(syntaxProblem(syntax, source, text, lines))
  const missing = substitute(document, lines, variables)
  if (missing.length > 0)
    throw new ConfigError(missing.map(({ line, problem }) => `${source}:${line}: ${problem}`).join('\n'))
  const value: unknown = document.toJS() ?? {}
  const misfits = violations(fileSchema(value, providers), value)
  if (misfits.length > 0) {
    throw new ConfigError(
      misfits
        .map(
          ({ path, field, problem }) =>
            `${at(path)}: ${field || 'the file'} ${problem}${quoteHint(document, path, problem)}`,
        )
        .join('\n'),
    )
  }
  const config = value as FileConfig
  const { catalog, models, problems } = buildCatalog(declared(config), providers)
  return {
    config: { ...withDefaults(config, at), catalog, models },
    problems: [...checkChannels(config.channels ?? [], providers), ...problems].map(({ path, ...problem }) => ({
      place: at(path),
      ...problem,
    })),
  }
}

function declared({ channels = [], models = [] }: FileConfig): CatalogConfig {
  return { channels, models }
}

function withDefaults(config: FileConfig, at: PlaceOf): Omit<Config, 'catalog' | 'models'> {
  return {
    bootstrapCredit: config.bootstrap?.credit ?? BOOTSTRAP_CREDIT_DEFAULT,
    roleRates: { ...ROLE_RATES_DEFAULT, ...config.limits?.requests_per_minute },
    showsRouting: config.show_routing ?? false,
    routing: routingPolicy(config.routing),
    durability: config.metering?.durability ?? 'journal',
    responsesKeptMs: parseDurationMs(config.responses?.keep ?? RESPONSES_KEEP_DEFAULT),
    cache: cacheConfig(config.cache),
    drainDeadlineMs: parseDurationMs(config.drain?.deadline ?? DRAIN_DEADLINE_DEFAULT),
    keepAliveMs: parseDurationMs(config.streams?.keep_alive ?? KEEP_ALIVE_DEFAULT),
    metricsToken: config.metrics?.token,
    alerts: { balanceBelow: config.alerts?.balance_below ?? [], limitUsed: config.alerts?.limit_used ?? [] },
    byokFee: feeOf(config, at),
    isSandbox: (config.channels ?? []).length === 0,
  }
}

/** Where in the file a value stands: `tollgate.yaml:12`. */
type PlaceOf = (path: readonly (string | number)[]) => string

function feeOf({ byok }: FileConfig, at: PlaceOf): Fee {
  try {
    return parseFee(byok?.fee ?? {})
  } catch (error) {
    throw new ConfigError(`${at(['byok', 'fee'])}: the fee cannot be exact: ${(error as Error).message}`)
  }
}

function routingPolicy(config: FileConfig['routing'] = {}): RoutingPolicy {
  const { strategy, sticky, ejection, retry_uncertain, retry_share } = config
  return {
    strategy: strategy ?? ROUTING_DEFAULT.strategy,
    isSticky: sticky ?? ROUTING_DEFAULT.isSticky,
    isEjecting: ejection ?? ROUTING_DEFAULT.isEjecting,
    retriesUncertain: retry_uncertain ?? ROUTING_DEFAULT.retriesUncertain,
    retryShare: retry_share ?? ROUTING_DEFAULT.retryShare,
  }
}

function cacheConfig(given: FileConfig['cache']): Config['cache'] {
  const { ttl, ttl_max, size_max, entry_max } = { ...CACHE_DEFAULTS, ...given }
  const ttlSecondsMax = parseDurationMs(ttl_max) / 1000
  return {
    ttlSecondsDefault: Math.min(parseDurationMs(ttl) / 1000, ttlSecondsMax),
    ttlSecondsMax,
    bytesMax: parseBytes(size_max),
    answerBytesMax: Math.min(parseBytes(entry_max), CACHE_ENTRY_BYTES_MAX),
  }
}

const UNIT_BYTES: Readonly<Record<string, number>> = { KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 }

function parseBytes(text: string): number {
  const [, count = '0', unit = 'KB'] = /^(\d+)(KB|MB|GB)$/.exec(text) ?? []
  return Number(count) * (UNIT_BYTES[unit] ?? 1)
}

/** The first mistake only: a parser that has lost its way reports every line after it. */
function syntaxProblem({ message, pos }: YAMLParseError, source: string, text: string, lines: LineCounter): string {
  const { line } = lines.linePos(pos[0])
  const written = text.split('\n')[line - 1] ?? ''
  // Braces have a meaning of their own inside { … }.
  const hint = written.includes('${') ? '; inside { } a variable needs quotes: "${NAME}"' : ''
  return `${source}:${line}: ${firstLine(message)}${hint}`
}

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** Puts the environment's values in place of `${NAME}`; a name without a value is a problem, never an empty text. */
function substitute(
  document: Document,
  lines: LineCounter,
  variables: LoadOptions['variables'],
): { line: number; problem: string }[] {
  const problems: { line: number; problem: string }[] = []
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value !== 'string') return
      node.value = node.value.replace(VARIABLE, (_match, name: string) => {
        const value = variables[name]
        if (value) return value
        const line = lines.linePos(node.range?.[0] ?? 0).line
        problems.push({ line, problem: `the environment variable ${name} is not set` })
        return ''
      })
    },
  })
  return problems
}

/** The line of the value at `path`, or of the nearest thing around it that exists. */
function lineOf(document: Document, lines: LineCounter, path: readonly (string | number)[]): number {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true)
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
  }
  return 1
}

/** YAML reads an unquoted price as a number, which would make a float of money. */
function quoteHint(document: Document, path: readonly (string | number)[], problem: string): string {
  if (!problem.includes('a string')) return ''
  const node = document.getIn(path, true)
  return isScalar(node) && typeof node.value === 'number' ? `; write it in quotes: "${node.source ?? node.value}"` : ''
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0]?.replace(/:$/, '') ?? ''
}
