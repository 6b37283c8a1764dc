import { ConfigError } from '#app/config/config-error.ts'
import { parseUsd } from '#core/money.ts'

/** An argument that is an amount of US dollars, as it was written. @throws ConfigError */
export function parseAmount(text: string): string {
  try {
    if (parseUsd(text) >= 0n) return text
  } catch {
    // falls through to the one message
  }
  throw new ConfigError(`"${text}" is no amount in US dollars like 25.50.`)
}
