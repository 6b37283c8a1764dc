import fc from 'fast-check'

/** Where to cut; taken modulo the number of bytes. */
export const cutPlaces = fc.array(fc.nat(), { maxLength: 12 })

/** `bytes` in pieces, cut at any place: inside a character, between CR and LF. Copies, so that no piece sees another. */
export function cutBytes(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map(place => place % (bytes.length + 1))), bytes.length].toSorted((a, b) => a - b)
  let from = 0
  return ends.map(end => {
    const piece = Buffer.from(bytes.subarray(from, end))
    from = end
    return piece
  })
}

/** `text` in pieces that are never empty. */
export function cutText(text: string, places: readonly number[]): string[] {
  const ends = [...new Set(places.map(place => place % (text.length + 1))), text.length].toSorted((a, b) => a - b)
  let from = 0
  return ends.flatMap(end => {
    const piece = text.slice(from, end)
    from = end
    return piece === '' ? [] : [piece]
  })
}
