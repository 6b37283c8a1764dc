import { ConfigError } from '#app/config/config-error.ts'

const REQUESTS_PER_MINUTE_MAX = 1_000_000

/** An argument that is a number of requests a minute. @throws ConfigError */
export function parseRate(text: string): number {
  const rate = /^\d{1,7}$/.test(text) ? Number(text) : 0
  if (rate < 1 || rate > REQUESTS_PER_MINUTE_MAX) {
    throw new ConfigError(`"${text}" is no number of requests a minute from 1 to ${REQUESTS_PER_MINUTE_MAX}.`)
  }
  return rate
}
