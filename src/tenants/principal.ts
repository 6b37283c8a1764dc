/** What the spec calls an account's role; it decides the default rate limit. */
export const ROLES = ['user', 'partner', 'vip'] as const
export type OrganizationRole = (typeof ROLES)[number]

/** How a generation is to be delivered (spec, Delivery policy). */
export const DELIVERY_POLICIES = ['auto', 'verified', 'official'] as const
export type DeliveryPolicy = (typeof DELIVERY_POLICIES)[number]

/** The caller of an inference route, as its API key says. */
export interface Principal {
  readonly keyId: string
  readonly workspaceId: string
  readonly organizationId: string
  readonly role: OrganizationRole
  /** Public model ids that the key is restricted to; `undefined` for all. */
  readonly models: readonly string[] | undefined
  /** The key may not spend more than an amount of its own. */
  readonly isLimited: boolean
  /** The key's own; `undefined`: as the organization has it. */
  readonly requestsPerMinute: number | undefined
  /** `undefined`: as the role has it. */
  readonly organizationRequestsPerMinute: number | undefined
}

/** The caller of a management route: one workspace, and nothing outside it. */
export interface Manager {
  readonly tokenId: string
  readonly workspaceId: string
  readonly organizationId: string
  readonly role: OrganizationRole
  /** `undefined`: as the role has it. */
  readonly organizationRequestsPerMinute: number | undefined
}

/** Requests a minute that the roles allow. */
export type RoleRates = Readonly<Record<OrganizationRole, number>>

/** Requests a minute that an organization may send, with all its keys. */
export function organizationRate(
  { role, organizationRequestsPerMinute }: Pick<Principal, 'role' | 'organizationRequestsPerMinute'>,
  roles: RoleRates,
): number {
  return organizationRequestsPerMinute ?? roles[role]
}
