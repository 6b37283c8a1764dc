import type { Command } from 'commander'
import { ConfigError } from '#app/config/config-error.ts'
import { readEnvironment } from '#app/config/environment.ts'
import { loadConfig } from '#app/settings.ts'
import { addressOf } from '#catalog/build.ts'
import type { Catalog } from '#catalog/catalog.ts'
import { formatUsd } from '#core/money.ts'
import { OutboundClient } from '#http/outbound/client.ts'
import { PROVIDERS } from '#providers/registry.ts'
import { Endpoints } from '#relay/endpoints.ts'
import { examine, type Finding } from './channel-test/examine.ts'
import { costAtMost, planTrials, type Trial } from './channel-test/trial.ts'
import { printTable } from './table.ts'

interface TestOptions {
  readonly model?: string
  readonly all?: true
  readonly json?: true
}

export function addChannels(program: Command): void {
  const channels = program.command('channels').description('accounts at providers, as tollgate.yaml declares them')

  channels
    .command('list')
    .description('list channels, what they speak and how many models they offer')
    .option('--json', 'as JSON')
    .action(async ({ json }: { json?: true }) => {
      const listed = describeChannels(await declared())
      if (json) return printJson({ channels: listed })
      const rows = listed.map(({ id, provider, base_url, keys, models }) => [
        id,
        provider,
        base_url,
        String(keys),
        String(models),
      ])
      printTable(['CHANNEL', 'PROVIDER', 'BASE URL', 'KEYS', 'MODELS'], rows)
    })

  channels
    .command('test')
    .description('ask each channel a question of every kind that it serves, as the gateway would; no server is needed')
    .argument('[id]', 'this channel only')
    .option('--model <id>', 'this model only, by its public id')
    .option('--all', 'every model, and not one of each kind a channel')
    .option('--json', 'findings as JSON')
    .action(async (channelId: string | undefined, { model: modelId, all, json }: TestOptions) => {
      const catalog = await declared()
      const trials = planTrials(catalog, { channelId, modelId, isExhaustive: all })
      if (trials.length === 0) throw new ConfigError(nothingToAsk(catalog, channelId, modelId))
      process.stderr.write(
        `${trials.length} questions, for ${formatUsd(costAtMost(trials))} USD at most by the declared prices. ` +
          'They are on your accounts at the providers and metered to no tenant.\n',
      )
      const findings = await examineAll(trials)
      if (json) printJson({ findings: findings.map(toJson) })
      else printTable(HEADER, findings.map(toRow))
      if (findings.some(({ status }) => status === 'fail')) process.exitCode = 1
    })
}

/** @throws ConfigError when there is no channel */
async function declared(): Promise<Catalog> {
  const { catalog, isSandbox } = await loadConfig({ ...readEnvironment(), sandboxUrl: undefined })
  if (isSandbox) throw new ConfigError('No channel is declared: the sandbox serves. Declare one in tollgate.yaml.')
  return catalog
}

function nothingToAsk({ channels }: Catalog, channelId: string | undefined, modelId: string | undefined): string {
  if (channelId !== undefined && !channels.has(channelId)) {
    return `There is no channel "${channelId}"; see: tollgate channels list`
  }
  const what = modelId === undefined ? 'a chat or embedding model' : `a chat or embedding model "${modelId}"`
  return `There is nothing to ask: ${what} is not offered by ${channelId === undefined ? 'any channel' : `channel "${channelId}"`}.`
}

/** Channels at once, the questions to each one after the other: a small account has small limits. */
async function examineAll(trials: readonly Trial[]): Promise<Finding[]> {
  const endpoints = new Endpoints({ providers: PROVIDERS, onCredentialFailure: () => {} })
  const outbound = new OutboundClient()
  try {
    const byChannel = [...Map.groupBy(trials, ({ channel }) => channel).values()]
    const findings = await Promise.all(
      byChannel.map(async asked => {
        const found: Finding[] = []
        for (const trial of asked) found.push(await examine(trial, endpoints, outbound))
        return found
      }),
    )
    return findings.flat()
  } finally {
    await outbound.close()
  }
}

const HEADER = ['CHANNEL', 'MODEL', 'FAMILY', 'STATUS', 'LATENCY', 'TOKENS', 'COST USD', 'PROBLEM', 'FIX']

function toRow({ channel, model, family, status, latencyMs, tokens, costUsd, problem, fix }: Finding): string[] {
  const known = (value: unknown) => (value === undefined ? '' : String(value))
  const facts = [channel, model, family, status, `${latencyMs} ms`]
  return [...facts, ...[tokens, costUsd, problem, fix].map(known)]
}

function toJson({ latencyMs, costUsd, ...finding }: Finding): object {
  return { ...finding, latency_ms: latencyMs, cost_usd: costUsd }
}

function describeChannels({ channels, models }: Catalog) {
  const offers = [...models.values()].flatMap(model => model.offers)
  return [...channels.values()].map(channel => ({
    id: channel.id,
    provider: channel.provider,
    base_url: addressOf(channel, PROVIDERS) ?? '',
    keys: channel.credentials.filter(({ key }) => key !== undefined).length,
    models: offers.filter(offer => offer.channel === channel).length,
  }))
}

function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`)
}
