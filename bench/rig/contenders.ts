import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'
import type { BenchProcess } from './process.ts'
import type { Rig } from './rig.ts'
import { startTollgate } from './tollgate.ts'

export type ContenderName = 'bare' | 'tollgate' | 'portkey'

/** A proxy in front of the bench's upstream, ready to be measured. */
export interface Contender {
  readonly name: ContenderName
  readonly process: BenchProcess
  readonly port: number
  /** What its clients must send beside the body. */
  readonly headers: Readonly<Record<string, string>>
  /** The model that its clients ask for. */
  readonly model: string
  /**
   * Resolves when the work that it does after its answers is done too: that is part of what a request costs.
   *
   * @param requests answered since the last call
   */
  settled(requests: number): Promise<void>
}

/** The model that the upstream knows. */
const UPSTREAM_MODEL = 'upstream-model'

const BENCH_FOLDER = path.resolve(import.meta.dirname, '..')
const PORTKEY_MAIN = path.join(BENCH_FOLDER, 'node_modules/@portkey-ai/gateway/build/start-server.js')
const LOOPBACK_ONLY = path.join(BENCH_FOLDER, 'rig/loopback-only.ts')

export async function startContenders(rig: Rig, names: readonly ContenderName[]): Promise<Contender[]> {
  const proxies: Contender[] = []
  for (const name of names) {
    if (name === 'bare') proxies.push(await startBare(rig))
    else if (name === 'tollgate') proxies.push(await startTollgate(rig))
    else proxies.push(await startPortkey(rig))
  }
  return proxies
}

async function startBare(rig: Rig): Promise<Contender> {
  const options = {
    name: 'bare proxy',
    script: path.join(BENCH_FOLDER, 'bare-proxy.ts'),
    args: [await rig.upstreamUrl()],
    place: 'measured',
  } as const
  const process = await rig.start(options, { hasLine: true })
  const port = await process.ready()
  return { name: 'bare', process, port, headers: {}, model: 'bench', settled: async () => {} }
}

/** Portkey as its README has it run, without its console; it trusts loopback hosts unless told otherwise. */
async function startPortkey(rig: Rig): Promise<Contender> {
  const port = await freePort()
  const logFile = path.join(rig.folder, 'portkey.log')
  const options = {
    name: 'Portkey',
    script: PORTKEY_MAIN,
    args: ['--headless', `--port=${port}`],
    nodeArgs: ['--import', LOOPBACK_ONLY],
    environment: { NODE_ENV: 'production' },
    place: 'measured',
    logFile,
  } as const
  const process = await rig.start(options)
  await process.until(() => accepts(port), logFile)
  return {
    name: 'portkey',
    process,
    port,
    headers: {
      authorization: 'Bearer sk-upstream',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `${await rig.upstreamUrl()}/v1`,
    },
    // Its simplest configuration: the client's model is passed on, so it has one thing less to do.
    model: UPSTREAM_MODEL,
    settled: async () => {},
  }
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function accepts(port: number): Promise<true | undefined> {
  const socket = net.connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return undefined
  } finally {
    socket.destroy()
  }
}
