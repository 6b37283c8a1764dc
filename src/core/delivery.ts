/** How a generation is to be delivered (spec, Delivery policy). */
export const DELIVERY_POLICIES = ['auto', 'verified', 'official'] as const

export type DeliveryPolicy = (typeof DELIVERY_POLICIES)[number]

/** What a channel delivers: through the service's own verified capacity, or the model maker's own offer. */
export type DeliveryTier = Exclude<DeliveryPolicy, 'auto'>

export function isDeliveryPolicy(value: unknown): value is DeliveryPolicy {
  return (DELIVERY_POLICIES as readonly unknown[]).includes(value)
}
