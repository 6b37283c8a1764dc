import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildConnector, errors } from 'undici'
import { Networks } from './networks.ts'
import { isGlobalAddress } from './special-networks.ts'

export interface OutboundGuardOptions {
  /** Networks in CIDR notation that are let through although they are not public. */
  readonly trustedNetworks: readonly string[]
  /** Where this process listens itself; `undefined` while it does not. */
  readonly ownPort?: () => number | undefined
  /** All addresses of a name; the system's resolver unless a test plays one. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>
}

/** A customer's URL leads where this gateway does not go. The message names addresses and is for the log. */
export class ForbiddenDestination extends Error {
  override readonly name = 'ForbiddenDestination'
  readonly code = 'ERR_FORBIDDEN_DESTINATION'
}

/**
 * Stands between the gateway and addresses that customers name (SSRF). A name is resolved once, every address of it is
 * judged, and the connection goes to one of the addresses that were judged: a name that answers differently the next
 * time (DNS rebinding) is not asked again. The name itself goes on in `Host` and to TLS. Nothing here follows a
 * redirect or reads a proxy from the environment, and neither does the client that connects.
 */
export class OutboundGuard {
  readonly #trusted: Networks
  readonly #ownPort: () => number | undefined
  readonly #resolve: (hostname: string) => Promise<readonly string[]>

  /** @throws RangeError for what is no network */
  constructor({ trustedNetworks, ownPort = () => undefined, resolve = resolveAll }: OutboundGuardOptions) {
    this.#trusted = new Networks(trustedNetworks)
    this.#ownPort = ownPort
    this.#resolve = resolve
  }

  /** What is wrong with a URL that can be told without asking anyone, a sentence's end; `undefined`: nothing yet. */
  objectionTo(url: URL): string | undefined {
    if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https://'
    if (url.username !== '' || url.password !== '') return 'must not contain a user name or a password'
    if (url.hash !== '') return 'must not contain a fragment'
    const hostname = withoutBrackets(url.hostname)
    const isPlain = url.protocol === 'http:'
    if (isIP(hostname) === 0) return isPlain && !this.#trustsAny ? 'must begin with https://' : undefined
    return this.#judge(hostname, { port: portOf(url), isPlain })
  }

  /**
   * For undici: connects to a name's address only after all of them have been found fit.
   *
   * @param timeoutMs for DNS, TCP and TLS together
   */
  connector(timeoutMs: number): buildConnector.connector {
    return (options, callback) => {
      this.#connect(options, timeoutMs).then(
        socket => callback(null, socket),
        (error: Error) => callback(error, null),
      )
    }
  }

  async #connect(options: buildConnector.Options, timeoutMs: number): ReturnType<typeof dial> {
    const startedAtMs = performance.now()
    const hostname = withoutBrackets(options.hostname)
    const isPlain = options.protocol === 'http:'
    const port = options.port === '' ? defaultPort(isPlain) : Number(options.port)
    const addresses = isIP(hostname) === 0 ? await within(timeoutMs, this.#resolve(hostname)) : [hostname]
    const [first] = addresses
    if (first === undefined) throw new ForbiddenDestination(`${hostname} has no address`)
    for (const address of addresses) {
      const objection = this.#judge(address, { port, isPlain })
      if (objection !== undefined) throw new ForbiddenDestination(`${hostname} (${address}) ${objection}`)
    }
    const leftMs = Math.max(1, timeoutMs - (performance.now() - startedAtMs))
    return dial({ ...options, hostname: first }, { servername: hostname, isPlain, timeoutMs: leftMs })
  }

  #judge(address: string, { port, isPlain }: { port: number; isPlain: boolean }): string | undefined {
    const isOwn = isOwnAddress(address)
    if (isOwn && port === this.#ownPort()) return 'leads back to this gateway'
    if (this.#trusted.has(address)) return undefined
    if (isOwn || !isGlobalAddress(address)) return 'is not a public address'
    return isPlain ? 'must begin with https://' : undefined
  }

  /** Unencrypted connections are for trusted networks, and a name may lead into one. */
  get #trustsAny(): boolean {
    return !this.#trusted.isEmpty
  }
}

type Socket = Parameters<buildConnector.Callback> extends [null, infer S] | [Error, null] ? S : never

/** @param servername the name that the address was found under: TLS presents and checks it */
function dial(
  options: buildConnector.Options,
  { servername, isPlain, timeoutMs }: { servername: string; isPlain: boolean; timeoutMs: number },
): Promise<Socket> {
  // Made for each connection, so that no TLS session is shared and the time left counts.
  const connect = buildConnector({ timeout: timeoutMs, allowH2: false, autoSelectFamily: false })
  const named = isPlain || isIP(servername) !== 0 ? options : { ...options, servername }
  return new Promise((resolve, reject) => {
    connect(named, (error, socket) => (error ? reject(error) : resolve(socket as Socket)))
  })
}

async function resolveAll(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true, verbatim: true })
  return found.map(({ address }) => address)
}

async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  const over = new AbortController()
  const timeout = sleep(timeoutMs, undefined, { signal: over.signal }).then(() => {
    throw new errors.ConnectTimeoutError('the name was not resolved in time')
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    over.abort()
    timeout.catch(() => {})
  }
}

const LOOPBACK = new Networks(['0.0.0.0/32', '127.0.0.0/8', '::/128', '::1/128'])

/** Read each time: addresses come and go with containers and VPNs. */
function isOwnAddress(address: string): boolean {
  if (LOOPBACK.has(address)) return true
  return Object.values(networkInterfaces()).some(list => list?.some(each => each.address === address))
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? defaultPort(protocol === 'http:') : Number(port)
}

function defaultPort(isPlain: boolean): number {
  return isPlain ? 80 : 443
}
