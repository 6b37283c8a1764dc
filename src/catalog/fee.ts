import { parseDecimal } from '#core/money.ts'
import { type Fee, type Price, parseStated, withVersion } from './price.ts'
import type { FeeConfig } from './schema.ts'

const PERCENT_PLACES = 4

export const NO_FEE: Fee = Object.freeze({ share: 0n, perRequest: 0n })

/** @throws RangeError with a sentence when a number has too many digits to be exact */
export function parseFee({ percent = '0', per_request = '0' }: FeeConfig): Fee {
  return { share: parseDecimal(percent, PERCENT_PLACES), perRequest: parseStated(per_request) }
}

/** The price of a request for which only a fee is paid. */
export function toFeePrice({ version: _version, ...platform }: Price, fee: Fee): Price {
  return withVersion({ ...platform, fee })
}
