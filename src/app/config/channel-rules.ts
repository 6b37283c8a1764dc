import { type TProperties, type TSchema, Type } from 'typebox'
import type { CatalogProblem } from '#catalog/build.ts'
import { ChannelConfig } from '#catalog/schema.ts'
import { FileConfig } from './schema.ts'

/** What a provider has to say about the channels that name it. */
export interface ChannelRules {
  /** What they may say beyond what all channels may. */
  readonly settings?: TProperties
  /** What a schema cannot see. @returns what is wrong, and what to do */
  readonly check?: (channel: Readonly<Record<string, unknown>>) => string | undefined
}

type Rules = ReadonlyMap<string, ChannelRules>

const closed = { additionalProperties: false } as const

/** The schema of one file: what a channel may say depends on the provider that it names. */
export function fileSchema(file: unknown, rules: Rules): TSchema {
  const channels = isRecord(file) ? file.channels : undefined
  if (!Array.isArray(channels)) return FileConfig
  const schemas = channels.map(channel => channelSchema(channel, rules))
  return Type.Object({ ...FileConfig.properties, channels: Type.Tuple(schemas) }, closed)
}

function channelSchema(channel: unknown, rules: Rules): TSchema {
  const settings = isRecord(channel) ? rules.get(String(channel.provider))?.settings : undefined
  return settings ? Type.Object({ ...ChannelConfig.properties, ...settings }, closed) : ChannelConfig
}

/** What is wrong with channels that fit their schema. */
export function checkChannels(channels: readonly ChannelConfig[], rules: Rules): CatalogProblem[] {
  return channels.flatMap((channel, index) => {
    const problem = rules.get(channel.provider)?.check?.(channel)
    return problem === undefined ? [] : [{ path: ['channels', index], message: `channel "${channel.id}" ${problem}` }]
  })
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
