import { Fault } from '#core/fault.ts'
import type { RateKind, RateRefusal } from './rates.ts'

const WHOSE: Readonly<Record<RateKind, string>> = Object.freeze({
  organization: 'this organization, over all its API keys,',
  key: 'this API key',
  management: 'this organization on management routes',
})

export function rateFault({ subject: { kind, limit }, retryAfterSeconds }: RateRefusal): Fault {
  const requests = `${limit} ${limit === 1 ? 'request' : 'requests'} a minute`
  return new Fault(
    'rate_limit_exceeded',
    `The limit of ${WHOSE[kind]} is ${requests}, and it is reached. Try again in ${retryAfterSeconds} s.`,
    {
      hint: 'Wait for as long as `Retry-After` says, spread requests out, or have the limit raised.',
      retryAfterSeconds,
    },
  )
}
