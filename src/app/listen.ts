import type { InboundServer } from '#http/inbound/server.ts'
import { ConfigError } from './config/config-error.ts'
import type { Environment } from './config/environment.ts'

const PROBLEMS: Readonly<Record<string, (environment: Environment) => string>> = {
  EADDRINUSE: ({ host, port }) =>
    `Port ${port} on ${host} is taken. Stop what uses it, or set PORT (0 for any free port).`,
  EACCES: ({ port }) => `Port ${port} may not be opened by this user. Set PORT to 1024 or higher.`,
  EADDRNOTAVAIL: ({ host }) => `This machine has no address ${host}. Set HOST (0.0.0.0 for all).`,
}

/** @returns the port listened on. @throws ConfigError saying what stands in the way */
export async function listenOn(server: InboundServer, environment: Environment): Promise<number> {
  try {
    return await server.listen(environment)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    throw PROBLEMS[code] ? new ConfigError(PROBLEMS[code](environment)) : error
  }
}
