import { type Static, Type } from 'typebox'

const Text = Type.String({ minLength: 1 })

export const settings = {
  /** Name of the resource, for its usual address. */
  resource: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9-]*$' })),
  /** Asks the dated API of a deployment instead of the v1 API. */
  api_version: Type.Optional(Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}(-preview)?$' })),
  entra: Type.Optional(
    Type.Object(
      {
        tenant_id: Text,
        client_id: Text,
        client_secret: Text,
        /** Of national clouds. */
        authority: Type.Optional(Type.String({ pattern: '^https?://' })),
        scope: Type.Optional(Text),
      },
      { additionalProperties: false },
    ),
  ),
}

const AzureSettings = Type.Object(settings)
export type AzureSettings = Static<typeof AzureSettings>

interface Declared extends AzureSettings {
  readonly base_url?: string
  readonly api_key?: unknown
}

export function check({ resource, base_url: baseUrl, api_key: apiKey, entra }: Declared): string | undefined {
  if (resource === undefined && baseUrl === undefined) return 'needs resource or base_url'
  if (baseUrl !== undefined && /\/openai(\/|$)/.test(baseUrl)) {
    return 'has a base_url with the path of the API; end it before /openai'
  }
  if ((apiKey === undefined) === (entra === undefined)) return 'needs either api_key or entra'
  return undefined
}
