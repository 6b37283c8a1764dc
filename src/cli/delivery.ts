import { ConfigError } from '#app/config/config-error.ts'
import { DELIVERY_POLICIES, type DeliveryPolicy } from '#core/delivery.ts'

/** @throws ConfigError when there is no such policy */
export function parseDelivery(text: string): DeliveryPolicy {
  const policy = DELIVERY_POLICIES.find(each => each === text)
  if (!policy) throw new ConfigError(`There is no delivery "${text}"; it is one of ${DELIVERY_POLICIES.join(', ')}.`)
  return policy
}
