import { ConfigError } from '#app/config/config-error.ts'
import { parseUsd } from '#core/money.ts'

/** An argument that is an amount of US dollars, as it was written. @throws ConfigError */
export function parseAmount(text: string): string {
  const amount = parseSignedAmount(text)
  if (parseUsd(amount) < 0n) throw noAmount(text)
  return amount
}

/** The same where less than nothing makes sense. @throws ConfigError */
export function parseSignedAmount(text: string): string {
  try {
    parseUsd(text)
    return text
  } catch {
    throw noAmount(text)
  }
}

function noAmount(text: string): ConfigError {
  return new ConfigError(`"${text}" is no amount in US dollars like 25.50.`)
}
