import { DELIVERY_POLICIES, type DeliveryPolicy, isDeliveryPolicy } from '#core/delivery.ts'
import { Fault } from '#core/fault.ts'
import type { Inbound } from '#http/inbound/route.ts'
import type { Principal } from '#tenants/principal.ts'

const HEADER = 'X-Gateway-Delivery-Policy'

/** How a request is to be delivered: as its header says, or else its key, or else its workspace. @throws Fault */
export function deliveryPolicyOf({ headers }: Inbound, { deliveryPolicy }: Principal): DeliveryPolicy {
  const asked = headers[HEADER.toLowerCase()]
  if (asked === undefined) return deliveryPolicy
  if (isDeliveryPolicy(asked)) return asked
  const values = DELIVERY_POLICIES.map(policy => `\`${policy}\``).join(', ')
  throw new Fault('invalid_request', `The header \`${HEADER}\` must be one of ${values}.`, { param: HEADER })
}
