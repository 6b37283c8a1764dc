import { ConfigError } from '#app/config/config-error.ts'
import type { Database } from '#storage/database.ts'
import { findOrganization, listWorkspaces, type Organization, type Workspace } from '#tenants/store.ts'

/** @throws ConfigError when there is none */
export async function organizationNamed(database: Database, idOrName: string): Promise<Organization> {
  const organization = await findOrganization(database, idOrName)
  if (!organization) throw new ConfigError(`There is no organization "${idOrName}"; see: tollgate orgs list`)
  return organization
}

/** @throws ConfigError when the organization or the workspace does not exist */
export async function workspaceNamed(database: Database, organization: string, workspace: string): Promise<Workspace> {
  const { id, name } = await organizationNamed(database, organization)
  const found = (await listWorkspaces(database, id)).find(each => each.name === workspace || each.id === workspace)
  if (!found) throw new ConfigError(`Organization "${name}" has no workspace "${workspace}".`)
  return found
}
