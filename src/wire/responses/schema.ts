import { type Static, type TSchema, Type } from 'typebox'

/**
 * `POST /v1/responses` (spec, Generation; field list: OpenAI API reference). Only what the gateway reads is described,
 * and loosely: an unknown field, item or part type is the upstream's to judge, not ours to refuse. SDKs send `null` for
 * "not given", so every optional field takes it.
 */
const optional = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]))

const loose = { additionalProperties: true }

const Part = Type.Object({ type: Type.String() }, loose)

const Item = Type.Object(
  {
    type: optional(Type.String({ description: '`message` when absent' })),
    role: optional(Type.String({ description: '`system`, `developer`, `user` or `assistant`, in a message' })),
    content: optional(Type.Union([Type.String(), Type.Array(Part)])),
    output: optional(Type.Union([Type.String(), Type.Array(Part), Type.Object({}, loose)])),
  },
  loose,
)

const Tool = Type.Object(
  {
    type: Type.String({ description: '`function`, or `custom` for a tool that takes free text' }),
    name: optional(Type.String()),
    description: optional(Type.String()),
    parameters: Type.Optional(Type.Unknown({ description: 'JSON schema of the arguments' })),
    strict: optional(Type.Boolean()),
    format: optional(Type.Object({ type: Type.String() }, loose)),
  },
  loose,
)

export const ResponsesRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'An id from `GET /v1/models`' }),
    input: optional(Type.Union([Type.String(), Type.Array(Item)])),
    instructions: optional(Type.String()),
    background: optional(Type.Boolean({ description: 'Only `false`' })),
    store: optional(Type.Boolean({ description: 'Keep the response; `true` when absent' })),
    previous_response_id: optional(Type.String({ description: 'A kept response that this one goes on from' })),
    stream: optional(Type.Boolean({ description: 'Answer as server-sent events' })),
    max_output_tokens: optional(Type.Integer({ minimum: 1 })),
    temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_logprobs: optional(Type.Integer({ minimum: 0, maximum: 20 })),
    include: optional(Type.Array(Type.String())),
    reasoning: optional(Type.Object({ effort: optional(Type.String()), summary: optional(Type.String()) }, loose)),
    text: optional(
      Type.Object(
        { format: optional(Type.Object({ type: Type.String() }, loose)), verbosity: optional(Type.String()) },
        loose,
      ),
    ),
    tools: optional(Type.Array(Tool)),
    tool_choice: optional(Type.Union([Type.String(), Type.Object({}, loose)])),
    parallel_tool_calls: optional(Type.Boolean()),
    prompt_cache_key: optional(Type.String()),
    safety_identifier: optional(Type.String()),
    user: optional(Type.String()),
    metadata: optional(Type.Record(Type.String(), Type.String())),
    service_tier: optional(Type.String()),
  },
  { ...loose, title: 'ResponsesRequest' },
)

export type ResponsesRequest = Static<typeof ResponsesRequest>
export type ResponsesItem = Extract<NonNullable<ResponsesRequest['input']>, readonly unknown[]>[number] &
  Readonly<Record<string, unknown>>
export type ResponsesTool = NonNullable<ResponsesRequest['tools']>[number]

/** Documentation of the answer; answers of upstreams are read field by field, never validated whole. */
export const ResponsesResponse = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('response'),
    created_at: Type.Integer({ description: 'Unix seconds' }),
    status: Type.String({ description: '`completed`, `incomplete` or `failed`' }),
    model: Type.String(),
    output: Type.Array(Type.Object({ type: Type.String() }, loose)),
    usage: Type.Object({
      input_tokens: Type.Integer(),
      output_tokens: Type.Integer(),
      total_tokens: Type.Integer(),
    }),
  },
  { ...loose, title: 'ResponsesResponse' },
)
