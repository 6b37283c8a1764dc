import { type Static, type TSchema, Type } from 'typebox'

/**
 * `POST /v1/chat/completions` (spec, Generation; field list: OpenAI API reference). Only what the gateway reads is
 * described, and loosely: an unknown field, role or part type is the upstream's to judge, not ours to refuse. SDKs
 * send `null` for "not given", so every optional field takes it.
 */
const optional = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]))

const Part = Type.Object({ type: Type.String() }, { additionalProperties: true })

const ToolCall = Type.Object({
  id: Type.String(),
  type: Type.Optional(Type.String()),
  function: Type.Optional(Type.Object({ name: Type.String(), arguments: Type.String() })),
  custom: Type.Optional(Type.Object({ name: Type.String(), input: Type.String() })),
})

const Message = Type.Object(
  {
    role: Type.String({ description: '`system`, `developer`, `user`, `assistant` or `tool`' }),
    content: optional(Type.Union([Type.String(), Type.Array(Part)])),
    name: optional(Type.String()),
    refusal: optional(Type.String()),
    tool_calls: optional(Type.Array(ToolCall)),
    tool_call_id: optional(Type.String()),
    reasoning_content: optional(Type.String()),
    function_call: optional(Type.Object({ name: Type.String(), arguments: Type.String() })),
  },
  { additionalProperties: true },
)

const Tool = Type.Object(
  {
    type: optional(
      Type.String({ description: '`function`, also when absent, or `custom` for a tool that takes free text' }),
    ),
    function: Type.Optional(
      Type.Object({
        name: Type.String(),
        description: optional(Type.String()),
        parameters: Type.Optional(Type.Unknown({ description: 'JSON schema of the arguments' })),
        strict: optional(Type.Boolean()),
      }),
    ),
    custom: Type.Optional(
      Type.Object(
        {
          name: Type.String(),
          description: optional(Type.String()),
          format: optional(Type.Object({ type: Type.String() }, { additionalProperties: true })),
        },
        { additionalProperties: true },
      ),
    ),
  },
  { additionalProperties: true },
)

export const ChatCompletionsRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'An id from `GET /v1/models`' }),
    messages: Type.Array(Message, { minItems: 1 }),
    stream: optional(Type.Boolean({ description: 'Answer as server-sent events' })),
    stream_options: optional(Type.Object({ include_usage: optional(Type.Boolean()) }, { additionalProperties: true })),
    max_completion_tokens: optional(Type.Integer({ minimum: 1 })),
    max_tokens: optional(Type.Integer({ minimum: 1, description: 'Older name of `max_completion_tokens`' })),
    temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
    n: optional(Type.Integer({ minimum: 1, maximum: 128 })),
    stop: optional(Type.Union([Type.String(), Type.Array(Type.String())])),
    presence_penalty: optional(Type.Number({ minimum: -2, maximum: 2 })),
    frequency_penalty: optional(Type.Number({ minimum: -2, maximum: 2 })),
    seed: optional(Type.Integer()),
    logprobs: optional(Type.Boolean()),
    top_logprobs: optional(Type.Integer({ minimum: 0, maximum: 20 })),
    tools: optional(Type.Array(Tool)),
    tool_choice: optional(Type.Union([Type.String(), Type.Object({}, { additionalProperties: true })])),
    parallel_tool_calls: optional(Type.Boolean()),
    response_format: optional(Type.Object({ type: Type.String() }, { additionalProperties: true })),
    reasoning_effort: optional(Type.String()),
    verbosity: optional(Type.String()),
    modalities: optional(Type.Array(Type.String())),
    audio: optional(
      Type.Object({ voice: Type.Unknown(), format: Type.String() }, { description: 'Goes with modality `audio`' }),
    ),
    translation_options: optional(
      Type.Object(
        {
          source_lang: optional(Type.String({ minLength: 1, description: 'Any language when absent' })),
          target_lang: Type.String({ minLength: 1 }),
        },
        { additionalProperties: true },
      ),
    ),
    prompt_cache_key: optional(Type.String()),
    safety_identifier: optional(Type.String()),
    user: optional(Type.String()),
    metadata: optional(Type.Record(Type.String(), Type.String())),
    service_tier: optional(Type.String()),
  },
  { additionalProperties: true, title: 'ChatCompletionsRequest' },
)

export type ChatCompletionsRequest = Static<typeof ChatCompletionsRequest>
export type ChatMessage = ChatCompletionsRequest['messages'][number]
export type ChatTool = NonNullable<ChatCompletionsRequest['tools']>[number]

/** Documentation of the answer; answers of upstreams are read field by field, never validated whole. */
export const ChatCompletionsResponse = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('chat.completion'),
    created: Type.Integer({ description: 'Unix seconds' }),
    model: Type.String(),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer(),
        finish_reason: Type.String(),
        message: Type.Object(
          {
            role: Type.Literal('assistant'),
            content: Type.Union([Type.String(), Type.Null()]),
            refusal: Type.Union([Type.String(), Type.Null()]),
            tool_calls: Type.Optional(Type.Array(ToolCall)),
          },
          { additionalProperties: true },
        ),
      }),
    ),
    usage: Type.Object({
      prompt_tokens: Type.Integer(),
      completion_tokens: Type.Integer(),
      total_tokens: Type.Integer(),
    }),
  },
  { additionalProperties: true, title: 'ChatCompletionsResponse' },
)
