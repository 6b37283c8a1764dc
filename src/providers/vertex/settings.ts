import { type Static, Type } from 'typebox'

const Text = Type.String({ minLength: 1 })

export const settings = {
  project: Type.Optional(Type.String({ pattern: '^[a-z0-9][a-z0-9.:-]*$' })),
  location: Type.Optional(Type.String({ pattern: '^[a-z][a-z0-9-]*$' })),
  /** Trials of Anthropic's API (`anthropic-beta`) that go on; all, unless given. */
  betas: Type.Optional(Type.Array(Type.String({ minLength: 1 }))),
  service_account: Type.Optional(
    Type.Object(
      {
        /** A key file as Google gives it out, read anew for every token. */
        file: Type.Optional(Text),
        /** The text of such a file. */
        json: Type.Optional(Text),
        /** Address of a metadata server, which knows the account of the machine. */
        metadata_url: Type.Optional(Type.String({ pattern: '^https?://' })),
      },
      { additionalProperties: false, maxProperties: 1 },
    ),
  ),
}

const VertexSettings = Type.Object(settings)
export type VertexSettings = Static<typeof VertexSettings>

interface Declared extends VertexSettings {
  readonly api_key?: unknown
}

export function check({ project, api_key: apiKey, service_account: account }: Declared): string | undefined {
  if (apiKey !== undefined && account !== undefined) return 'has api_key and service_account; keep one'
  if (apiKey === undefined && project === undefined) return 'needs project, unless it has an api_key of express mode'
  if (account?.json !== undefined && !isJson(account.json)) return 'has a service_account.json that is no JSON'
  return undefined
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}
