import { parseUsd } from '#core/money.ts'
import { openAccount, postCredit } from '#ledger/store.ts'
import { newId } from '#lib/ids.ts'
import type { Database } from '#storage/database.ts'
import { CredentialHasher } from '#tenants/credential.ts'
import { createApiKey, createOrganization } from '#tenants/store.ts'

/** Who pays, and how to ask in its name. */
export interface TestPayer {
  readonly organizationId: string
  readonly workspaceId: string
  readonly keyId: string
  readonly isLimited: boolean
  readonly credential: string
}

/** A new organization with credit, and a key of it. @param secret what the gateways hash keys with */
export async function createPayer(
  database: Database,
  { credit, limit, secret = 'x'.repeat(32) }: { credit: string; limit?: string | undefined; secret?: string },
): Promise<TestPayer> {
  return database.transaction().execute(async transaction => {
    const { organization, workspace } = await createOrganization(transaction, { name: newId('org'), role: 'user' })
    const organizationId = organization.id
    await openAccount(transaction, organizationId)
    const amount = parseUsd(credit)
    await postCredit(transaction, { organizationId, amount, operationKey: organizationId, reason: 'test' })
    const { id: keyId, credential } = await createApiKey(transaction, new CredentialHasher(secret), {
      workspaceId: workspace.id,
      name: 'k',
      limitAmount: limit,
    })
    return { organizationId, workspaceId: workspace.id, keyId, isLimited: limit !== undefined, credential }
  })
}
