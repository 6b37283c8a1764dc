import { openAccount } from '#ledger/store.ts'
import type { DatabaseTransaction } from '#storage/database.ts'
import type { OrganizationRole } from '#tenants/principal.ts'
import { createOrganization } from '#tenants/store.ts'

/** An organization is a tenant and an account; neither folder knows of the other, so they are joined here. */
export async function newOrganization(
  transaction: DatabaseTransaction,
  input: { name: string; role: OrganizationRole },
): ReturnType<typeof createOrganization> {
  const created = await createOrganization(transaction, input)
  await openAccount(transaction, created.organization.id)
  return created
}
