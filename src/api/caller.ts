import { rateHeaders } from '#http/inbound/rate-headers.ts'
import type { Inbound } from '#http/inbound/route.ts'
import { rateFault } from '#quota/rate/fault.ts'
import type { RateSubject, Rates } from '#quota/rate/rates.ts'
import type { Authenticator } from '#tenants/authenticator.ts'
import { organizationRate, type Principal, type RoleRates } from '#tenants/principal.ts'

export interface CallerDeps {
  readonly authenticator: Authenticator
  readonly rates: Rates
  roleRates(): RoleRates
}

/**
 * The caller of a data-plane route, who has not sent more requests than its limits allow. Every request counts whose
 * credential is good, before anyone has looked at the rest: garbage costs as much as sense, and nobody's body is
 * read that will be refused.
 *
 * @param spell how the caller's SDK wants to hear of its limit
 * @returns at once where the caller is known, so that the warm path stays synchronous
 * @throws Fault `invalid_api_key`, `expired_api_key` or `rate_limit_exceeded`
 */
export function admitCaller(
  deps: CallerDeps,
  request: Inbound,
  credential: string | undefined,
  spell = rateHeaders,
): Principal | Promise<Principal> {
  const caller = deps.authenticator.inference(credential)
  const admit = (principal: Principal) => withinLimits(deps, request, principal, spell)
  return caller instanceof Promise ? caller.then(admit) : admit(caller)
}

function withinLimits(
  { rates, roleRates }: CallerDeps,
  { answerHeaders, facts }: Inbound,
  principal: Principal,
  spell: typeof rateHeaders,
): Principal {
  const { standing, refused } = rates.decide(limitsOf(principal, roleRates()))
  Object.assign(answerHeaders, spell(standing))
  if (!refused) return principal
  facts.rate_limited = refused.subject.kind
  throw rateFault(refused)
}

function limitsOf(principal: Principal, roles: RoleRates): RateSubject[] {
  const { keyId, organizationId, requestsPerMinute } = principal
  const organization = { kind: 'organization', id: organizationId, limit: organizationRate(principal, roles) } as const
  return requestsPerMinute === undefined
    ? [organization]
    : [organization, { kind: 'key', id: keyId, limit: requestsPerMinute }]
}
