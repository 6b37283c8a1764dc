/** An amount as the spec shows it: the number that displays are fed with, and the exact decimal beside it. */
export function usdFields<N extends string>(
  name: N,
  decimal: string | undefined,
): Record<N, number | null> & Record<`${N}_decimal`, string | null> {
  const fields = { [name]: decimal === undefined ? null : Number(decimal), [`${name}_decimal`]: decimal ?? null }
  return fields as ReturnType<typeof usdFields<N>>
}
