import path from 'node:path'
import { Networks } from '#http/outbound/networks.ts'
import { ConfigError } from './config-error.ts'

/** What the process was told through its environment. Only this file reads `process.env`. */
export interface Environment {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** `undefined`: `tollgate.yaml` in the working folder, if there is one. */
  readonly configFile: string | undefined
  readonly dataFolder: string
  /** `undefined`: the embedded server. */
  readonly databaseUrl: string | undefined
  /** `undefined`: one is generated into the data folder. */
  readonly secret: string | undefined
  /** Networks in CIDR notation where customers' URLs may lead although they are not public. */
  readonly trustedNetworks: readonly string[]
  readonly workers: number
  readonly logLevel: string
  /** For `${NAME}` in the configuration file. */
  readonly variables: Readonly<Record<string, string | undefined>>
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']
const SECRET_CHARACTERS_MIN = 32
const WORKERS_MAX = 128

/** @throws ConfigError naming the variable */
export function readEnvironment(variables: Readonly<Record<string, string | undefined>> = process.env): Environment {
  const {
    HOST = '127.0.0.1',
    TOLLGATE_CONFIG,
    TOLLGATE_DATA = './data',
    DATABASE_URL,
    TOLLGATE_SECRET,
    LOG_LEVEL = 'info',
  } = variables
  if (!LOG_LEVELS.includes(LOG_LEVEL)) throw new ConfigError(`LOG_LEVEL must be one of ${LOG_LEVELS.join(', ')}.`)
  if (DATABASE_URL && !/^postgres(ql)?:\/\//.test(DATABASE_URL)) {
    throw new ConfigError('DATABASE_URL must begin with postgres:// or postgresql://.')
  }
  if (TOLLGATE_SECRET !== undefined && TOLLGATE_SECRET.length < SECRET_CHARACTERS_MIN) {
    throw new ConfigError(
      `TOLLGATE_SECRET must have at least ${SECRET_CHARACTERS_MIN} characters; e.g. openssl rand -hex 32.`,
    )
  }
  return {
    host: HOST,
    port: readInteger(variables, 'PORT', { fallback: 8080, min: 0, max: 65_535 }),
    configFile: TOLLGATE_CONFIG || undefined,
    dataFolder: path.resolve(TOLLGATE_DATA),
    databaseUrl: DATABASE_URL || undefined,
    secret: TOLLGATE_SECRET,
    trustedNetworks: readNetworks(variables.TOLLGATE_TRUSTED_NETWORKS),
    workers: readInteger(variables, 'TOLLGATE_WORKERS', { fallback: 1, min: 1, max: WORKERS_MAX }),
    logLevel: LOG_LEVEL,
    variables,
  }
}

function readNetworks(text = ''): readonly string[] {
  const networks = text.split(',').flatMap(network => network.trim() || [])
  try {
    new Networks(networks)
  } catch (error) {
    throw new ConfigError(`TOLLGATE_TRUSTED_NETWORKS: ${(error as Error).message}.`)
  }
  return networks
}

function readInteger(
  variables: Environment['variables'],
  name: string,
  { fallback, min, max }: { fallback: number; min: number; max: number },
): number {
  const text = variables[name]
  if (text === undefined || text === '') return fallback
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new ConfigError(`${name} must be a whole number from ${min} to ${max}, not "${text}".`)
}
