import { type Static, Type } from 'typebox'

const Text = Type.String({ minLength: 1 })

export const settings = {
  /** Trials of Anthropic's API (`anthropic-beta`) that go on; all, unless given. */
  betas: Type.Optional(Type.Array(Type.String({ minLength: 1 }))),
  aws: Type.Object(
    {
      region: Type.String({ pattern: '^[a-z]{2,}(-[a-z]+)+-\\d+$' }),
      access_key_id: Type.Optional(Text),
      secret_access_key: Type.Optional(Text),
      session_token: Type.Optional(Text),
      /** Of AWS's own configuration files, where it may assume a role. */
      profile: Type.Optional(Text),
    },
    { additionalProperties: false },
  ),
}

const BedrockSettings = Type.Object(settings)
export type BedrockSettings = Static<typeof BedrockSettings>

/** One way to be known, and the whole of it. */
export function check({ aws, api_key }: BedrockSettings & { readonly api_key?: unknown }): string | undefined {
  const hasKeyPair = aws.access_key_id !== undefined
  if (hasKeyPair !== (aws.secret_access_key !== undefined)) {
    return 'needs both aws.access_key_id and aws.secret_access_key, or neither'
  }
  const ways = [api_key !== undefined && 'api_key', hasKeyPair && 'aws.access_key_id', aws.profile && 'aws.profile']
  const given = ways.filter(Boolean)
  return given.length > 1 ? `has ${given.join(' and ')}; keep one` : undefined
}
