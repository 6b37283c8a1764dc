import { type Static, Type } from 'typebox'
import { validator } from '#core/validate.ts'

/** `POST /v1/embeddings` (OpenAI API reference). Token arrays are accepted as well as text. */
export const EmbeddingsRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'An id from `GET /v1/models`' }),
    input: Type.Union([
      Type.String({ minLength: 1 }),
      Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: 2048 }),
      Type.Array(Type.Integer(), { minItems: 1 }),
      Type.Array(Type.Array(Type.Integer(), { minItems: 1 }), { minItems: 1, maxItems: 2048 }),
    ]),
    encoding_format: Type.Optional(Type.Union([Type.Enum(['float', 'base64']), Type.Null()])),
    dimensions: Type.Optional(Type.Union([Type.Integer({ minimum: 1 }), Type.Null()])),
    user: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  },
  { additionalProperties: true, title: 'EmbeddingsRequest' },
)

export type EmbeddingsRequest = Static<typeof EmbeddingsRequest>

export const validateRequest: (value: unknown) => asserts value is EmbeddingsRequest = validator(EmbeddingsRequest)
