import { access, constants, statfs } from 'node:fs/promises'
import type { Command } from 'commander'
import { sql } from 'kysely'
import { ConfigError } from '#app/config/config-error.ts'
import { type Environment, readEnvironment } from '#app/config/environment.ts'
import type { Config } from '#app/config/load.ts'
import { DataLock } from '#app/data-lock.ts'
import { loadConfig } from '#app/settings.ts'
import type { Channel } from '#catalog/catalog.ts'
import { OutboundClient } from '#http/outbound/client.ts'
import { baseUrlOf, bySettings, type Headers } from '#providers/provider.ts'
import { PROVIDERS } from '#providers/registry.ts'
import { Endpoints } from '#relay/endpoints.ts'
import { type Trouble, troubleOfCredential, troubleOfFailure } from './channel-test/trouble.ts'
import { formatTable } from './table.ts'
import { withDatabase } from './with-database.ts'

interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly detail: string
  /** What to do about it. */
  readonly fix?: string
}

const NODE_MAJOR_MIN = 24
const POSTGRES_VERSION_MIN = 140_000
const DISK_BYTES_MIN = 1024 ** 3

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('check Node, configuration, data folder, database and channels')
    .action(async () => {
      const findings = await examine()
      const rows = findings.map(({ check, state, detail, fix }) => [check, state, detail, fix ?? ''])
      process.stdout.write(formatTable(['CHECK', 'STATE', 'DETAIL', 'FIX'], rows))
      if (findings.some(({ state }) => state === 'fail')) process.exitCode = 1
    })
}

async function examine(): Promise<Finding[]> {
  const findings = [checkNode()]
  const environment = await attempt('environment', findings, async () => readEnvironment())
  if (!environment) return findings
  const config = await attempt('configuration', findings, () => loadConfig({ ...environment, sandboxUrl: undefined }))
  if (config) findings.push(describeConfig(config))
  findings.push(...(await checkDataFolder(environment)))
  findings.push(await checkDatabase())
  if (config) findings.push(...(await checkChannels([...config.catalog.channels.values()])))
  return findings
}

/** Runs a step whose failure is a finding in itself. */
async function attempt<T>(check: string, findings: Finding[], step: () => Promise<T>): Promise<T | undefined> {
  try {
    return await step()
  } catch (error) {
    findings.push({ check, state: 'fail', detail: (error as Error).message, fix: 'correct it as the message says' })
    return undefined
  }
}

function checkNode(): Finding {
  const major = Number(process.versions.node.split('.')[0])
  const detail = `Node ${process.versions.node}`
  if (major >= NODE_MAJOR_MIN) return { check: 'node', state: 'ok', detail }
  return {
    check: 'node',
    state: 'fail',
    detail,
    fix: `run "npm install" and start through npm, which brings Node ${NODE_MAJOR_MIN}`,
  }
}

function describeConfig({ catalog, isSandbox }: Config): Finding {
  if (isSandbox) {
    return {
      check: 'configuration',
      state: 'warn',
      detail: 'no channel: the sandbox serves',
      fix: 'declare channels in tollgate.yaml',
    }
  }
  return {
    check: 'configuration',
    state: 'ok',
    detail: `${catalog.channels.size} channels, ${catalog.models.size} public models`,
  }
}

async function checkDataFolder({ dataFolder }: Environment): Promise<Finding[]> {
  try {
    await access(dataFolder, constants.R_OK | constants.W_OK)
  } catch {
    return [
      {
        check: 'data folder',
        state: 'warn',
        detail: `${dataFolder} is not there yet or not writable`,
        fix: 'the first start makes it',
      },
    ]
  }
  const { bavail, bsize } = await statfs(dataFolder)
  const free = bavail * bsize
  const isHeld = await DataLock.isHeld(dataFolder)
  return [
    { check: 'data folder', state: 'ok', detail: `${dataFolder}${isHeld ? ', in use by a running Tollgate' : ''}` },
    free >= DISK_BYTES_MIN
      ? { check: 'disk', state: 'ok', detail: `${Math.floor(free / DISK_BYTES_MIN)} GiB free` }
      : {
          check: 'disk',
          state: 'warn',
          detail: `${Math.floor(free / 1024 ** 2)} MiB free`,
          fix: 'make room: without any, no work is accepted',
        },
  ]
}

async function checkDatabase(): Promise<Finding> {
  const check = 'database'
  try {
    let finding: Finding = { check, state: 'ok', detail: '' }
    await withDatabase(async ({ database }) => {
      const { rows } = await sql<{ number: string; version: string }>`
        select current_setting('server_version_num') as number, current_setting('server_version') as version
      `.execute(database)
      const detail = `Postgres ${rows[0]?.version}, schema up to date`
      finding =
        Number(rows[0]?.number) >= POSTGRES_VERSION_MIN
          ? { check, state: 'ok', detail }
          : { check, state: 'fail', detail, fix: 'use Postgres 14 or newer' }
    })
    return finding
  } catch (error) {
    const fix = error instanceof ConfigError ? 'as the message says' : 'check DATABASE_URL, and that the server is up'
    return { check, state: 'fail', detail: (error as Error).message, fix }
  }
}

async function checkChannels(channels: readonly Channel[]): Promise<Finding[]> {
  const outbound = new OutboundClient()
  const endpoints = new Endpoints({ providers: PROVIDERS, onCredentialFailure: () => {} })
  try {
    return await Promise.all(channels.map(channel => checkChannel(outbound, endpoints, channel)))
  } finally {
    await outbound.close()
  }
}

async function checkChannel(outbound: OutboundClient, endpoints: Endpoints, channel: Channel): Promise<Finding> {
  const check = `channel ${channel.id}`
  const provider = PROVIDERS.get(channel.provider)
  if (!provider) return { check, state: 'fail', detail: `no provider ${channel.provider}` }
  const base = baseUrlOf(provider, channel)
  const probePath = bySettings(provider.probePath, channel.settings)
  const url = new URL(base + (probePath ?? ''))
  let headers: Headers
  try {
    headers = await endpoints.authorize(channel, channel.credentials[0], { method: 'GET', url, headers: {} })
  } catch (error) {
    const { problem, fix } = troubleOfCredential(error)
    return { check, state: 'fail', detail: problem, fix }
  }
  if (probePath === undefined) return { check, state: 'ok', detail: `has a credential; asking ${base} is not free` }
  const startedAtMs = performance.now()
  const status = await probe(outbound, channel, url, headers)
  const took = `${Math.round(performance.now() - startedAtMs)} ms`
  if (typeof status === 'object') return { check, state: 'fail', detail: `${base}: ${status.problem}`, fix: status.fix }
  if (status === 401 || status === 403)
    return { check, state: 'fail', detail: `the key is refused (${status})`, fix: 'check api_key' }
  if (status >= 500)
    return { check, state: 'warn', detail: `answers ${status}`, fix: 'the provider has trouble; see its status page' }
  return { check, state: 'ok', detail: `${base} answers, ${took}` }
}

/** @returns the status, or why there is none */
function probe(outbound: OutboundClient, channel: Channel, url: URL, headers: Headers): Promise<number | Trouble> {
  return new Promise(resolve => {
    const outgoing = outbound.send(
      { method: 'GET', url, headers, scope: channel.id, timeouts: { ...channel.timeouts, firstByteMs: 10_000 } },
      {
        started: status => {
          resolve(status)
          outgoing.abort()
        },
        data: () => {},
        ended: () => {},
        failed: failure => resolve(troubleOfFailure(failure)),
      },
    )
  })
}
