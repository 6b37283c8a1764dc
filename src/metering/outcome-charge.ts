import type { Price } from '#catalog/price.ts'
import type { Usage } from '#core/usage.ts'
import { billingOf, type Charge, computeCharge } from './charge.ts'
import type { Outcome } from './usage-record.ts'

/** Outcomes that are charged otherwise than at their usage times the price. */
const OTHERWISE: Readonly<Partial<Record<Outcome, typeof computeCharge>>> = Object.freeze({
  // An answer that the provider cut off is not what was ordered: it is recorded, and not charged.
  cut: (usage, price) => ({ ...computeCharge(usage, price), cost: 0n }),
  // Nothing was bought: no quantity at no price, so that quantities and costs add up as before. The answer may be older
  // than the price, and need not have counted what that is for.
  cached: (_usage, price) => ({ cost: 0n, unit: billingOf(price).unit, quantity: 0n, priceVersion: 'cached' }),
})

/** What a request costs that ended in a certain way. @throws Error where `computeCharge` does */
export function chargeFor(outcome: Outcome, usage: Usage, price: Price): Charge {
  const charge = OTHERWISE[outcome] ?? computeCharge
  return charge(usage, price)
}
