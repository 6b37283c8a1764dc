import { type Static, Type } from 'typebox'
import { ChannelConfig, ModelConfig } from '#catalog/schema.ts'

const CacheDuration = Type.String({ pattern: '^[1-9]\\d{0,3}(s|m|h|d)$' })
const ByteSize = Type.String({ pattern: '^\\d{1,6}(KB|MB|GB)$' })

const closed = { additionalProperties: false } as const

/** The configuration file. Every key is described in docs/configuration.md. */
export const FileConfig = Type.Object(
  {
    bootstrap: Type.Optional(
      Type.Object({ credit: Type.Optional(Type.String({ pattern: '^\\d+(\\.\\d{1,12})?$' })) }, closed),
    ),
    show_routing: Type.Optional(Type.Boolean()),
    metering: Type.Optional(Type.Object({ durability: Type.Optional(Type.Enum(['journal', 'database'])) }, closed)),
    responses: Type.Optional(
      Type.Object({ keep: Type.Optional(Type.String({ pattern: '^[1-9]\\d{0,3}(s|m|h|d)$' })) }, closed),
    ),
    cache: Type.Optional(
      Type.Object(
        {
          ttl: Type.Optional(CacheDuration),
          ttl_max: Type.Optional(CacheDuration),
          size_max: Type.Optional(ByteSize),
          entry_max: Type.Optional(ByteSize),
        },
        closed,
      ),
    ),
    drain: Type.Optional(Type.Object({ deadline: Type.Optional(Type.String({ pattern: '^\\d+(ms|s|m)$' })) }, closed)),
    streams: Type.Optional(
      Type.Object({ keep_alive: Type.Optional(Type.String({ pattern: '^[1-9]\\d*(ms|s|m)$' })) }, closed),
    ),
    metrics: Type.Optional(Type.Object({ token: Type.Optional(Type.String({ minLength: 16 })) }, closed)),
    channels: Type.Optional(Type.Array(ChannelConfig)),
    models: Type.Optional(Type.Array(ModelConfig)),
  },
  closed,
)

export type FileConfig = Static<typeof FileConfig>
