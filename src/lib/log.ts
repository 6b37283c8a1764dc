import { type DestinationStream, destination, type Logger, pino } from 'pino'

export type { Logger }

/** Fields that never appear in a log line whatever holds them, and the usual places they would hide in. */
const REDACTED = ['authorization', 'api_key', 'key', 'secret', 'token', 'password', 'credential'].flatMap(name => [
  name,
  `*.${name}`,
  `*.*.${name}`,
])

export interface LogOptions {
  readonly level: string
  /** Where lines go; standard output unless told otherwise. */
  readonly stream?: DestinationStream
}

/**
 * One JSON object a line on standard output. Lines are buffered up to 4 KiB and flushed every 100 ms and at exit:
 * a write per request would cost a system call each.
 */
export function createLogger({ level, stream }: LogOptions): Logger {
  const output = stream ?? destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 100 })
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: label => ({ level: label }) },
      redact: { paths: REDACTED, censor: '[redacted]' },
    },
    output,
  )
}
