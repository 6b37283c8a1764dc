import { type Static, type TSchema, Type } from 'typebox'

/**
 * `POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent` (spec, Generative-content native request;
 * field list: Gemini API reference). Only what the gateway reads is described, and loosely. Names are in camel case;
 * snake case is taken too (`spelling.ts`) and renamed before this is asked.
 */
const optional = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]))
const open = { additionalProperties: true } as const

const Part = Type.Object(
  {
    text: optional(Type.String()),
    thought: optional(Type.Boolean()),
    thoughtSignature: optional(Type.String()),
    inlineData: optional(
      Type.Object({ mimeType: optional(Type.String()), data: Type.String({ description: 'Base64' }) }, open),
    ),
    fileData: optional(
      Type.Object({ mimeType: optional(Type.String()), fileUri: Type.String({ description: 'A public URL' }) }, open),
    ),
    functionCall: optional(
      Type.Object(
        { id: optional(Type.String()), name: Type.String(), args: optional(Type.Object({}, open)) },
        { additionalProperties: true },
      ),
    ),
    functionResponse: optional(
      Type.Object(
        { id: optional(Type.String()), name: Type.String(), response: optional(Type.Object({}, open)) },
        { additionalProperties: true },
      ),
    ),
  },
  open,
)

const Content = Type.Object(
  { role: optional(Type.String({ description: '`user` or `model`' })), parts: optional(Type.Array(Part)) },
  open,
)

const FunctionDeclaration = Type.Object(
  {
    name: Type.String(),
    description: optional(Type.String()),
    parameters: Type.Optional(Type.Unknown({ description: 'Schema of the arguments, a subset of OpenAPI' })),
    parametersJsonSchema: Type.Optional(Type.Unknown({ description: 'JSON schema of the arguments' })),
  },
  open,
)

const GenerationConfig = Type.Object(
  {
    temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
    topP: optional(Type.Number({ minimum: 0, maximum: 1 })),
    topK: optional(Type.Integer({ minimum: 0 })),
    maxOutputTokens: optional(Type.Integer({ minimum: 1 })),
    stopSequences: optional(Type.Array(Type.String())),
    candidateCount: optional(Type.Integer({ minimum: 1, description: 'In a stream only 1' })),
    seed: optional(Type.Integer()),
    presencePenalty: optional(Type.Number()),
    frequencyPenalty: optional(Type.Number()),
    responseMimeType: optional(Type.String()),
    responseSchema: optional(Type.Object({}, open)),
    responseJsonSchema: Type.Optional(Type.Unknown()),
    responseModalities: optional(Type.Array(Type.String())),
    responseLogprobs: optional(Type.Boolean()),
    logprobs: optional(Type.Integer({ minimum: 0 })),
    speechConfig: optional(Type.Object({}, open)),
    thinkingConfig: optional(
      Type.Object(
        {
          includeThoughts: optional(Type.Boolean()),
          thinkingBudget: optional(Type.Integer()),
          thinkingLevel: optional(Type.String()),
        },
        open,
      ),
    ),
  },
  open,
)

export const GenerateContentRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'Stands in the path' }),
    stream: optional(Type.Boolean({ description: 'Stands in the path' })),
    contents: Type.Array(Content, { minItems: 1 }),
    systemInstruction: optional(Type.Union([Type.String(), Content])),
    tools: optional(Type.Array(Type.Object({ functionDeclarations: optional(Type.Array(FunctionDeclaration)) }, open))),
    toolConfig: optional(
      Type.Object(
        {
          functionCallingConfig: optional(
            Type.Object(
              { mode: optional(Type.String()), allowedFunctionNames: optional(Type.Array(Type.String())) },
              open,
            ),
          ),
        },
        open,
      ),
    ),
    generationConfig: optional(GenerationConfig),
    safetySettings: optional(Type.Array(Type.Object({}, open))),
    cachedContent: optional(Type.String()),
  },
  { additionalProperties: true, title: 'GenerateContentRequest' },
)

export type GenerateContentRequest = Static<typeof GenerateContentRequest>
export type WireContent = GenerateContentRequest['contents'][number]
export type WirePart = NonNullable<WireContent['parts']>[number]
export type WireGenerationConfig = Static<typeof GenerationConfig>

/** Documentation of the answer; answers of upstreams are read field by field, never validated whole. */
export const GenerateContentResponse = Type.Object(
  {
    candidates: Type.Array(
      Type.Object(
        {
          index: Type.Optional(Type.Integer()),
          content: Type.Optional(Content),
          finishReason: Type.Optional(Type.String()),
          safetyRatings: Type.Optional(
            Type.Array(Type.Object({ category: Type.String(), probability: Type.String() })),
          ),
        },
        open,
      ),
    ),
    usageMetadata: Type.Object(
      {
        promptTokenCount: Type.Integer(),
        candidatesTokenCount: Type.Integer(),
        totalTokenCount: Type.Integer(),
      },
      open,
    ),
    modelVersion: Type.String(),
    responseId: Type.Optional(Type.String()),
  },
  { additionalProperties: true, title: 'GenerateContentResponse' },
)
