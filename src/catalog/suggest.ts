const SUGGESTIONS_MAX = 3

/** An edit for every three characters is still a typo; more is another word. */
const EDITS_PER_CHARACTER_MAX = 1 / 3

/**
 * The known ids that a mistyped one was probably meant to be, likeliest first. Case, separators and a vendor prefix
 * (`openai/gpt-5`) are the usual mistakes, so they are not counted as edits.
 */
export function closestIds(mistyped: string, ids: readonly string[]): string[] {
  const wanted = normalize(mistyped.slice(0, 128))
  return ids
    .map(id => ({
      id,
      distance: distance(wanted, normalize(id)),
      length: Math.max(wanted.length, normalize(id).length),
    }))
    .filter(({ distance, length }) => distance <= length * EDITS_PER_CHARACTER_MAX)
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, SUGGESTIONS_MAX)
    .map(({ id }) => id)
}

function normalize(id: string): string {
  return id
    .slice(id.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
}

/** Edits (insert, delete, replace, swap of neighbours) that make `a` into `b`: Damerau–Levenshtein, restricted form. */
function distance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      let best = Math.min(
        (last[j] as number) + 1,
        (row[j - 1] as number) + 1,
        (last[j - 1] as number) + (isSame ? 0 : 1),
      )
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwap) best = Math.min(best, (beforeLast[j - 2] as number) + 1)
      row.push(best)
    }
    beforeLast = last
    last = row
  }
  return last[b.length] as number
}
