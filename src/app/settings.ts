import { watch } from 'node:fs'
import path from 'node:path'
import type { Logger } from '#lib/log.ts'
import { PROVIDERS } from '#providers/registry.ts'
import { sandboxConfig } from '#sandbox/sandbox.ts'
import type { Environment } from './config/environment.ts'
import { type Config, type LoadOptions, parseConfig, readConfigFile } from './config/load.ts'

const SETTLE_MS = 200

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
  #closing: (() => void)[] = []

  private constructor(options: SettingsOptions, current: Config) {
    this.#options = options
    this.#current = current
  }

  /** @throws ConfigError */
  static async load(options: SettingsOptions): Promise<Settings> {
    return new Settings(options, await loadConfig(options))
  }

  get current(): Config {
    return this.#current
  }

  /** Follows changes until `close`. */
  follow(): void {
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

  async reload(): Promise<void> {
    const { log } = this.#options
    try {
      this.#current = await loadConfig(this.#options)
      const { channels, models } = this.#current.catalog
      log.info({ channels: channels.size, models: models.size }, 'config.reloaded')
    } catch (error) {
      log.error({ problem: (error as Error).message }, 'config.rejected')
    }
  }
}

/** @throws ConfigError listing every problem */
export async function loadConfig({ configFile, variables, sandboxUrl }: ConfigSources): Promise<Config> {
  const options: LoadOptions = { providers: PROVIDERS, variables }
  const read = await readConfigFile(configFile)
  const config = parseConfig(read?.text ?? '', read?.file ?? 'tollgate.yaml', options)
  if (!config.isSandbox || sandboxUrl === undefined) return config
  const sandbox = { ...options, variables: { SANDBOX_URL: sandboxUrl } }
  return { ...config, catalog: parseConfig(await sandboxConfig(), 'sandbox', sandbox).catalog }
}
