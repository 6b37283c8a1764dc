import { readFile } from 'node:fs/promises'

/** The parts of a V8 CPU profile that are read here. Times are in microseconds. */
interface CpuProfile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  readonly children?: readonly number[]
}

export interface Heat {
  readonly name: string
  readonly micros: number
}

export interface Hotness {
  /** Time on the processor. */
  readonly busyMicros: number
  /** By function: in itself, without what it calls. */
  readonly self: readonly Heat[]
  /** By function of this repository: with all that it calls; recursion counts once. */
  readonly total: readonly Heat[]
  /** Self time by where the code comes from: a folder of `src`, a package, a part of Node. */
  readonly origin: readonly Heat[]
}

const IDLE = '(idle)'

export async function readHotness(file: string): Promise<Hotness> {
  const { nodes, samples, timeDeltas } = JSON.parse(await readFile(file, 'utf8')) as CpuProfile
  const selfOfNode = new Map<number, number>()
  for (const [i, id] of samples.entries()) {
    // A sample's delta is the time since the one before it.
    selfOfNode.set(id, (selfOfNode.get(id) ?? 0) + (timeDeltas[i + 1] ?? 0))
  }
  const byId = new Map(nodes.map(node => [node.id, node]))
  const self = new Map<string, number>()
  const total = new Map<string, number>()
  const origin = new Map<string, number>()
  const walk = (node: ProfileNode, callers: ReadonlySet<string>): void => {
    const name = nameOf(node)
    const micros = selfOfNode.get(node.id) ?? 0
    add(self, name, micros)
    add(origin, originOf(node), micros)
    const onStack = name.includes(' src/') ? new Set([...callers, name]) : callers
    for (const each of onStack) add(total, each, micros)
    for (const child of node.children ?? []) walk(byId.get(child) as ProfileNode, onStack)
  }
  if (nodes[0]) walk(nodes[0], new Set())
  const busyMicros = [...self].reduce((sum, [name, micros]) => sum + (name === IDLE ? 0 : micros), 0)
  return { busyMicros, self: hottest(self), total: hottest(total), origin: hottest(origin) }
}

function hottest(heats: ReadonlyMap<string, number>): Heat[] {
  const list = [...heats].map(([name, micros]) => ({ name, micros })).filter(({ name }) => name !== IDLE)
  return list.toSorted((a, b) => b.micros - a.micros)
}

function add(heats: Map<string, number>, name: string, micros: number): void {
  heats.set(name, (heats.get(name) ?? 0) + micros)
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  if (url === '') return functionName || '(anonymous)'
  return `${functionName || '(anonymous)'} ${shortUrl(url)}:${lineNumber + 1}`
}

function shortUrl(url: string): string {
  return url.replace(/^.*\/node_modules\//, '').replace(/^file:\/\/.*?\/src\//, 'src/')
}

function originOf({ callFrame: { functionName, url } }: ProfileNode): string {
  if (url === '') return functionName.startsWith('(') ? functionName : 'built into V8 or Node'
  const path = shortUrl(url)
  const parts = path.split('/')
  if (path.startsWith('node:')) return parts.slice(0, 2).join('/').replace(/_.*/, '')
  return parts.slice(0, path.startsWith('src/') || path.startsWith('@') ? 2 : 1).join('/')
}
