import type { Respelling } from '#core/work.ts'
import { type Edit, removeSpans } from './edit.ts'
import { scanMembers } from './members.ts'

/**
 * An object whose members are called as an upstream calls them. One that is renamed takes the place of what bore the
 * name before; what the upstream refuses is left out, and so is what is `undefined`.
 */
export function respell(object: Readonly<Record<string, unknown>>, names: Respelling): Record<string, unknown> {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined)
  const spelled = spell(
    entries.map(([key]) => key),
    names,
  )
  return Object.fromEntries(entries.flatMap(([, value], i) => (spelled[i] == null ? [] : [[spelled[i], value]])))
}

/** The edits that do the same to the object that begins at or after `from`, and leave every other byte. */
export function respellMembers(bytes: Buffer, names: Respelling, from = 0): Edit[] {
  const members = scanMembers(bytes, from)
  const spelled = spell(
    members.map(({ key }) => key),
    names,
  )
  const spans = members.map(({ start, valueEnd }) => ({ start, end: valueEnd }))
  const renames = members.flatMap(({ key, start, valueStart }, i) => {
    const name = spelled[i]
    return name == null || name === key ? [] : [{ start, end: valueStart, text: `${JSON.stringify(name)}:` }]
  })
  return [...removeSpans(spans, i => spelled[i] === null), ...renames]
}

/** What of `object` an upstream is not told because it refuses it. */
export function refusedMembers(object: Readonly<Record<string, unknown>>, names: Respelling): string[] {
  return Object.keys(names).filter(key => names[key] === null && object[key] !== undefined && object[key] !== null)
}

/** What each member is called, `null` for what is left out; of several with one name the last that is renamed to it stays. */
function spell(keys: readonly string[], names: Respelling): (string | null)[] {
  const spelled = keys.map(key => (Object.hasOwn(names, key) ? (names[key] as string | null) : key))
  return spelled.map((name, i) => {
    const rival = spelled.findLastIndex((other, j) => other === name && other !== keys[j])
    return rival === -1 || rival === i ? name : null
  })
}
