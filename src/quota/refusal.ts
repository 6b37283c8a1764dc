import { Fault } from '#core/fault.ts'
import { formatUsd, largerOf, type Picodollars } from '#core/money.ts'
import type { Standing } from './store.ts'
import type { Subject } from './subject.ts'

/** What other requests hold now is free again, or spent, within seconds. */
const RETRY_SECONDS = 1

const CODES = Object.freeze({ organization: 'insufficient_balance', key: 'quota_exceeded' })

/** The subject has less than a request may cost, or has it and needs it for others under way. */
export function refusal({ kind }: Subject, { balance }: Standing, estimated: Picodollars): Fault {
  const isHeld = balance >= estimated
  const left = largerOf(balance, 0n)
  return new Fault(CODES[kind], `${WHAT[kind](formatUsd(left))} ${isHeld ? HELD : TOO_LITTLE(formatUsd(estimated))}`, {
    hint: isHeld ? undefined : HINTS[kind],
    estimatedCostUsd: formatUsd(estimated),
    ...(kind === 'organization' && { balanceUsd: formatUsd(left) }),
    ...(isHeld && { retryable: true, retryAfterSeconds: RETRY_SECONDS }),
  })
}

const WHAT = Object.freeze({
  organization: (left: string) => `The balance of ${left} USD`,
  key: (left: string) => `What is left of this API key's limit, ${left} USD,`,
})

const HELD = 'is held by other requests under way; retry shortly.'

const TOO_LITTLE = (estimated: string) => `does not cover this request, which may cost up to ${estimated} USD.`

const HINTS = Object.freeze({
  organization: 'Add credit, or lower the output tokens that the request allows.',
  key: 'Use another key, have the limit raised, or lower the output tokens that the request allows.',
})

/** Nobody can be asked for more at the moment. */
export function cannotAsk(cause: unknown): Fault {
  return new Fault('service_unavailable', 'The gateway cannot check the balance at the moment; try again shortly.', {
    retryAfterSeconds: 5,
    cause,
  })
}
