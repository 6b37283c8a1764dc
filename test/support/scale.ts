/**
 * How large a proof is: a number from the environment, or what the suite can afford every time. `test/README.md` lists
 * the names.
 */
export function scale(name: ScaleName, usual: number): number {
  const given = process.env[name]
  if (given === undefined) return usual
  if (!/^[1-9]\d*$/.test(given)) throw new Error(`${name} must be a whole number, not "${given}"`)
  return Number(given)
}

type ScaleName = 'TOLLGATE_SEEDS' | 'TOLLGATE_RESTARTS' | 'TOLLGATE_KILLS' | 'TOLLGATE_REQUESTS'

/** 1, 2, 3, … */
export function seeds(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1)
}
