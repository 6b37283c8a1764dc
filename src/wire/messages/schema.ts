import { type Static, type TSchema, Type } from 'typebox'

/**
 * `POST /v1/messages` (spec, Generation; field list: Anthropic API reference). Only what the gateway reads is
 * described, and loosely: an unknown field or block type is the upstream's to judge, not ours to refuse. Clients send
 * `null` for "not given", so every optional field takes it.
 */
const optional = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]))

const Block = Type.Object({ type: Type.String() }, { additionalProperties: true })

const Content = Type.Union([Type.String(), Type.Array(Block)])

const Message = Type.Object(
  {
    role: Type.String({ description: '`user` or `assistant`' }),
    content: Content,
  },
  { additionalProperties: true },
)

const Tool = Type.Object(
  {
    type: optional(Type.String({ description: '`custom`, or the dated name of a tool that the provider runs' })),
    name: Type.Optional(Type.String()),
    description: optional(Type.String()),
    input_schema: Type.Optional(Type.Unknown({ description: 'JSON schema of the arguments' })),
    strict: optional(Type.Boolean()),
  },
  { additionalProperties: true },
)

const open = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: true })

const OutputFormat = optional(open({ type: Type.String(), schema: Type.Optional(Type.Unknown()) }))

export const MessagesRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'An id from `GET /v1/models`' }),
    max_tokens: Type.Integer({ minimum: 0, description: 'Thinking counts' }),
    messages: Type.Array(Message, { minItems: 1 }),
    system: optional(Content),
    stream: optional(Type.Boolean({ description: 'Answer as server-sent events' })),
    stop_sequences: optional(Type.Array(Type.String())),
    temperature: optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_k: optional(Type.Integer({ minimum: 0 })),
    metadata: optional(open({ user_id: optional(Type.String()) })),
    tools: optional(Type.Array(Tool)),
    tool_choice: optional(
      open({
        type: Type.String({ description: '`auto`, `any`, `tool` or `none`' }),
        name: Type.Optional(Type.String()),
        disable_parallel_tool_use: optional(Type.Boolean()),
      }),
    ),
    thinking: optional(
      open({ type: Type.String(), budget_tokens: optional(Type.Integer()), display: optional(Type.String()) }),
    ),
    output_config: optional(open({ effort: optional(Type.String()), format: OutputFormat })),
    output_format: OutputFormat,
    service_tier: optional(Type.String()),
  },
  { additionalProperties: true, title: 'MessagesRequest' },
)

export type MessagesRequest = Static<typeof MessagesRequest>
export type WireMessage = MessagesRequest['messages'][number]
export type WireTool = NonNullable<MessagesRequest['tools']>[number]

/** Documentation of the answer; answers of upstreams are read field by field, never validated whole. */
export const MessagesResponse = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal('message'),
    role: Type.Literal('assistant'),
    model: Type.String(),
    content: Type.Array(Block),
    stop_reason: Type.String(),
    stop_sequence: Type.Union([Type.String(), Type.Null()]),
    usage: Type.Object(
      { input_tokens: Type.Integer({ description: 'Without cached tokens' }), output_tokens: Type.Integer() },
      { additionalProperties: true },
    ),
  },
  { additionalProperties: true, title: 'MessagesResponse' },
)
