import { type Static, Type } from 'typebox'
import { ChannelConfig, ModelConfig } from '#catalog/schema.ts'

const closed = { additionalProperties: false } as const

const RequestsPerMinute = Type.Integer({ minimum: 1, maximum: 1_000_000 })

/** The configuration file. Every key is described in docs/configuration.md. */
export const FileConfig = Type.Object(
  {
    bootstrap: Type.Optional(
      Type.Object({ credit: Type.Optional(Type.String({ pattern: '^\\d+(\\.\\d{1,12})?$' })) }, closed),
    ),
    limits: Type.Optional(
      Type.Object(
        {
          requests_per_minute: Type.Optional(
            Type.Object(
              {
                user: Type.Optional(RequestsPerMinute),
                partner: Type.Optional(RequestsPerMinute),
                vip: Type.Optional(RequestsPerMinute),
              },
              closed,
            ),
          ),
        },
        closed,
      ),
    ),
    show_routing: Type.Optional(Type.Boolean()),
    metering: Type.Optional(Type.Object({ durability: Type.Optional(Type.Enum(['journal', 'database'])) }, closed)),
    responses: Type.Optional(
      Type.Object({ keep: Type.Optional(Type.String({ pattern: '^[1-9]\\d{0,3}(s|m|h|d)$' })) }, closed),
    ),
    drain: Type.Optional(Type.Object({ deadline: Type.Optional(Type.String({ pattern: '^\\d+(ms|s|m)$' })) }, closed)),
    streams: Type.Optional(
      Type.Object({ keep_alive: Type.Optional(Type.String({ pattern: '^[1-9]\\d*(ms|s|m)$' })) }, closed),
    ),
    alerts: Type.Optional(
      Type.Object(
        {
          balance_below: Type.Optional(Type.Array(Type.String({ pattern: '^\\d{1,20}(\\.\\d{1,12})?$' }))),
          limit_used: Type.Optional(Type.Array(Type.String({ pattern: '^[1-9]\\d{0,2}(\\.\\d{1,4})?%$' }))),
        },
        closed,
      ),
    ),
    metrics: Type.Optional(Type.Object({ token: Type.Optional(Type.String({ minLength: 16 })) }, closed)),
    channels: Type.Optional(Type.Array(ChannelConfig)),
    models: Type.Optional(Type.Array(ModelConfig)),
  },
  closed,
)

export type FileConfig = Static<typeof FileConfig>
