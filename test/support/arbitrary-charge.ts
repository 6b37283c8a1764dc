import fc from 'fast-check'
import { TOKEN_RATES, type TokenRate, UNIT_RATES } from '#catalog/price.ts'
import type { PriceConfig, PriceTierConfig } from '#catalog/schema.ts'
import { UNITS, type Unit, type Usage } from '#core/usage.ts'

const count = fc.oneof(fc.nat({ max: 200 }), fc.nat({ max: 10_000_000 }), fc.constantFrom(0, 1, 2 ** 40))

const quantity = fc.oneof(
  fc.bigInt({ min: 0n, max: 10n ** 15n }),
  fc.nat({ max: 50 }).map(whole => BigInt(whole) * 10n ** 12n),
)
const units = fc.record(Object.fromEntries(UNITS.map(unit => [unit, quantity])) as Record<Unit, typeof quantity>)

/** As providers report it, contradictions between a total and its parts included. */
export const anyUsage: fc.Arbitrary<Usage & { readonly units: Readonly<Record<Unit, bigint>> }> = fc.record(
  {
    inputTokens: count,
    cacheReadTokens: count,
    cacheWriteTokens: count,
    cacheWrite5mTokens: count,
    cacheWrite1hTokens: count,
    audioInputTokens: count,
    outputTokens: count,
    reasoningTokens: count,
    audioOutputTokens: count,
    units,
  },
  { requiredKeys: ['units'] },
)

const decimal = fc
  .tuple(fc.nat({ max: 200 }), fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 12 }))
  .map(([integer, fraction]) => (fraction === '' ? String(integer) : `${integer}.${fraction}`))

/** Some of the names, each with a price. */
function pricesOf<Name extends string>(names: readonly Name[]): fc.Arbitrary<Partial<Record<Name, string>>> {
  const all = Object.fromEntries(names.map(name => [name, decimal])) as Record<Name, typeof decimal>
  return fc.record(all, { requiredKeys: [] }) as fc.Arbitrary<Partial<Record<Name, string>>>
}

/** Tiers price what the price itself does, and begin where usages of a property are likely to lie. */
function tiersOf(names: readonly TokenRate[]): fc.Arbitrary<PriceTierConfig[]> {
  const bounds = fc.uniqueArray(fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 10_000_000 })), {
    maxLength: 3,
  })
  return bounds.chain(all =>
    fc.tuple(
      ...all
        .toSorted((a, b) => a - b)
        .map(above =>
          fc.record(Object.fromEntries(names.map(name => [name, decimal]))).map(rates => ({ above, ...rates })),
        ),
    ),
  )
}

/** As a configuration may have it. */
export const anyPrice: fc.Arbitrary<PriceConfig> = fc
  .tuple(pricesOf(TOKEN_RATES), pricesOf(UNIT_RATES), fc.constantFrom('1M' as const, '1K' as const, 1 as const))
  .chain(([tokens, others, per]) =>
    tiersOf(Object.keys(tokens) as TokenRate[]).map(tiers => ({
      ...tokens,
      ...others,
      per,
      ...(tiers.length > 0 && { tiers }),
    })),
  )
