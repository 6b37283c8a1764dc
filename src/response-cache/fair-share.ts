/**
 * How much each may have at most so that all together have no more than `total`: those who want less than an equal part
 * leave what they do not use to the others. Who is alone may have everything.
 *
 * @returns `Infinity` when there is enough for all
 */
export function fairShare(wanted: readonly number[], total: number): number {
  let left = total
  for (const [index, bytes] of wanted.toSorted((a, b) => a - b).entries()) {
    const equalPart = left / (wanted.length - index)
    if (bytes > equalPart) return Math.floor(equalPart)
    left -= bytes
  }
  return Number.POSITIVE_INFINITY
}
