import { createHash } from 'node:crypto'
import { parseDecimal } from '#core/money.ts'
import type { Price } from './price.ts'
import type { FeeConfig } from './schema.ts'

/** What the platform takes of a request that a customer's own provider key serves. */
export interface Fee {
  /** Of what the platform's price would come to, in millionths. */
  readonly share: bigint
  /** For each request beside it, in attodollars. */
  readonly perRequest: bigint
}

/** The whole of a price, as a {@link Fee.share}. */
export const WHOLE_SHARE = 1_000_000n

const PERCENT_PLACES = 4
const ATTO_PLACES = 18

export const NO_FEE: Fee = Object.freeze({ share: 0n, perRequest: 0n })

/** @throws RangeError with a sentence when a number has too many digits to be exact */
export function parseFee({ percent = '0', per_request = '0' }: FeeConfig): Fee {
  return { share: parseDecimal(percent, PERCENT_PLACES), perRequest: parseDecimal(per_request, ATTO_PLACES) }
}

/** The price of a request for which only a fee is paid. */
export function toFeePrice(platform: Price, fee: Fee): Price {
  const canonical = `${platform.version};share=${fee.share};request=${fee.perRequest}`
  const version = `pv_${createHash('sha256').update(canonical).digest('hex').slice(0, 16)}`
  return { version, rates: platform.rates, fee }
}

/** Whether nothing is ever charged at a price. */
export function isFreePrice({ rates, fee }: Price): boolean {
  const isSumFree = fee?.share === 0n || Object.values(rates).every(rate => rate === 0n)
  return isSumFree && (fee?.perRequest ?? 0n) === 0n
}
