import { hash } from 'node:crypto'

/** Gives what an upstream would refuse another name, the same one wherever it stands, and no two the same. */
export interface Renamer {
  /** What the upstream is told. */
  to(name: string): string
  /** What the client knows it as. */
  back(name: string): string
}

/**
 * @param names all there are: what fits keeps its name, and no other is given it
 * @param fits whether an upstream takes a name
 * @param make a name that fits, from one that does not and a seed that differs each time the result was taken
 */
export function renamer(
  names: Iterable<string>,
  fits: (name: string) => boolean,
  make: (name: string, seed: string) => string,
): Renamer {
  const all = new Set(names)
  const taken = new Set([...all].filter(fits))
  const given = new Map<string, string>()
  for (const name of all) {
    if (taken.has(name)) continue
    const fresh = untaken(name, taken, make)
    taken.add(fresh)
    given.set(name, fresh)
  }
  const originals = new Map([...given].map(([name, fresh]) => [fresh, name]))
  return { to: name => given.get(name) ?? name, back: name => originals.get(name) ?? name }
}

/** Of the name alone unless that is taken, so that the next turn of a conversation gets the same. */
function untaken(name: string, taken: ReadonlySet<string>, make: (name: string, seed: string) => string): string {
  for (let round = 0; ; round++) {
    const fresh = make(name, hash('sha256', `${round}\n${name}`, 'hex'))
    if (!taken.has(fresh)) return fresh
  }
}
