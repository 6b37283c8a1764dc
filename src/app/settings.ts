import { watch } from 'node:fs'
import path from 'node:path'
import type { Logger } from '#lib/log.ts'
import { PROVIDERS } from '#providers/registry.ts'
import { sandboxConfig } from '#sandbox/sandbox.ts'
import { ConfigError } from './config/config-error.ts'
import type { Environment } from './config/environment.ts'
import { type Config, type InspectedConfig, inspectConfig, type LoadOptions, readConfigFile } from './config/load.ts'

const SETTLE_MS = 200
const RETRY_MS = 5_000

export interface ConfigSources extends Pick<Environment, 'configFile' | 'variables'> {
  /** Address of the sandbox that serves while no channel is declared. */
  readonly sandboxUrl: string | undefined
}

export interface SettingsOptions extends ConfigSources {
  readonly log: Logger
}

/**
 * The configuration in force. A change of the file, or SIGHUP, reads it anew; a file with a mistake is reported and
 * what was in force stays. Channels, models, prices and what is shown follow at once, the rest at the next start.
 */
export class Settings {
  readonly #options: SettingsOptions
  #current: Config
  #accept: (config: Config) => Promise<void> = async () => {}
  #reloading: Promise<void> = Promise.resolve()
  #retry: NodeJS.Timeout | undefined
  #closing: (() => void)[] = []

  private constructor(options: SettingsOptions, current: Config) {
    this.#options = options
    this.#current = current
  }

  /** @throws ConfigError */
  static async load(options: SettingsOptions): Promise<Settings> {
    const config = await loadConfig(options)
    tellBookPrices(config, options.log)
    return new Settings(options, config)
  }

  get current(): Config {
    return this.#current
  }

  /**
   * Follows changes until `close`.
   *
   * @param accept what must be done before a configuration comes into force; while it fails, what was in force stays
   */
  follow(accept: (config: Config) => Promise<void>): void {
    this.#accept = accept
    this.#closing.push(() => clearTimeout(this.#retry))
    const reload = () => void this.reload()
    process.on('SIGHUP', reload)
    this.#closing.push(() => process.off('SIGHUP', reload))
    const file = path.resolve(this.#options.configFile ?? 'tollgate.yaml')
    let timer: NodeJS.Timeout | undefined
    // The folder is watched, not the file: editors replace a file rather than write into it.
    const watcher = watch(path.dirname(file), { persistent: false }, (_event, name) => {
      if (name !== path.basename(file)) return
      clearTimeout(timer)
      timer = setTimeout(reload, SETTLE_MS)
    })
    watcher.on('error', error => this.#options.log.warn({ cause: error.message }, 'config.watch_failed'))
    this.#closing.push(() => watcher.close())
  }

  close(): void {
    for (const close of this.#closing.splice(0)) close()
  }

  /** One after another, so that the file's last state is the one that stays. */
  reload(): Promise<void> {
    this.#reloading = this.#reloading.then(() => this.#reload())
    return this.#reloading
  }

  async #reload(): Promise<void> {
    const { log } = this.#options
    clearTimeout(this.#retry)
    try {
      const next = await loadConfig(this.#options)
      await this.#accept(next)
      this.#current = next
      const { channels, models } = next.catalog
      log.info({ channels: channels.size, models: models.size }, 'config.reloaded')
      tellBookPrices(next, log)
    } catch (error) {
      log.error({ problem: (error as Error).message }, 'config.rejected')
      // The file is as it should be, and nobody would change it again.
      if (!(error instanceof ConfigError)) this.#retry = setTimeout(() => void this.reload(), RETRY_MS).unref()
    }
  }
}

/** Whose price is not the operator's own is said, lest anybody takes it for theirs. */
function tellBookPrices({ models }: Config, log: Logger): void {
  const offers = models.flatMap(({ id, offers }) =>
    offers.flatMap(({ channel, price }) =>
      price.book ? [{ model: id, channel: channel.id, ...price.book, price_version: price.version }] : [],
    ),
  )
  if (offers.length > 0) log.info({ offers }, 'prices.from_book')
}

/** @throws ConfigError listing every problem */
export async function loadConfig(sources: ConfigSources): Promise<Config> {
  const { config, problems } = await inspectSources(sources)
  if (problems.length > 0)
    throw new ConfigError(problems.map(({ place, message }) => `${place}: ${message}`).join('\n'))
  return config
}

/** @throws ConfigError when there is nothing that could be looked at */
export async function inspectSources({ configFile, variables, sandboxUrl }: ConfigSources): Promise<InspectedConfig> {
  const options: LoadOptions = { providers: PROVIDERS, variables }
  const read = await readConfigFile(configFile)
  const inspected = inspectConfig(read?.text ?? '', read?.file ?? 'tollgate.yaml', options)
  if (!inspected.config.isSandbox || sandboxUrl === undefined) return inspected
  const sandbox = inspectConfig(await sandboxConfig(), 'sandbox', {
    ...options,
    variables: { SANDBOX_URL: sandboxUrl },
  })
  const { catalog, models } = sandbox.config
  return { config: { ...inspected.config, catalog, models }, problems: [...inspected.problems, ...sandbox.problems] }
}
