import { type Static, Type } from 'typebox'
import { Fault } from '#core/fault.ts'
import { tokenCount, type Usage } from '#core/usage.ts'
import { validator } from '#core/validate.ts'
import type { Answer, Exchange, ModelLimits, Target, Work } from '#core/work.ts'
import { addMember, applyEdits, type Edit, setMember } from '../json/edit.ts'
import { isObject, parseJsonObject, tryParse } from '../json/parse.ts'
import { decodeFault } from '../openai-fault.ts'
import { CAUTIOUS, type TokenMeasure, TYPICAL } from '../token-estimate.ts'

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

type EmbeddingsRequest = Static<typeof EmbeddingsRequest>

const validate: (value: unknown) => asserts value is EmbeddingsRequest = validator(EmbeddingsRequest)

/** A client's embeddings request as the relay takes it. @throws Fault `invalid_request` naming the field */
export function embeddingsWork(bytes: Buffer): Work {
  const body: unknown = parseJsonObject(bytes)
  validate(body)
  const request = body
  return {
    scene: 'embedding',
    operation: 'embeddings',
    format: 'embeddings',
    model: request.model,
    isStream: false,
    estimate: limits => estimate(request, limits, TYPICAL),
    bound: limits => estimate(request, limits, CAUTIOUS),
    encode: target => encode(bytes, request, target),
  }
}

function encode(bytes: Buffer, request: EmbeddingsRequest, target: Target): Exchange {
  const isSame = request.model === target.upstreamModel
  return {
    body: isSame ? bytes : applyEdits(bytes, [setMember(bytes, 'model', JSON.stringify(target.upstreamModel))]),
    headers: {},
    warnings: [],
    decodeAnswer: answer => decodeAnswer(answer, request, target),
    decodeFault: (status, error) => decodeFault(status, tryParse(error)),
    openStream: () => {
      throw new TypeError('embeddings are never streamed')
    },
  }
}

function decodeAnswer(bytes: Buffer, request: EmbeddingsRequest, target: Target): Answer {
  const body = tryParse(bytes)
  if (isObject(body) && isObject(body.error)) throw decodeFault(200, body)
  if (!isObject(body) || !Array.isArray(body.data)) {
    throw new Fault('upstream_error', 'The model provider sent an answer that holds no embeddings.')
  }
  const edits: Edit[] = []
  if (body.model !== target.publicModel) edits.push(setMember(bytes, 'model', JSON.stringify(target.publicModel)))
  const recoded = recodeVectors(body.data, request.encoding_format ?? 'float')
  if (recoded) edits.push(setMember(bytes, 'data', JSON.stringify(recoded)))
  if (target.routing) edits.push(addMember(bytes, '_routing', JSON.stringify(target.routing)))
  return {
    body: applyEdits(bytes, edits),
    observed: { usage: decodeUsage(body.usage), outputBytes: 0, isFinished: true },
  }
}

/**
 * Vectors in the encoding that was asked for. The OpenAI SDK asks for base64 unless told otherwise and then decodes
 * whatever comes, so a host that knows only floats would hand its users noise.
 *
 * @returns `undefined` when all are as they should be
 */
function recodeVectors(data: readonly unknown[], wanted: 'float' | 'base64'): unknown[] | undefined {
  const isWanted = (vector: unknown) => (wanted === 'float' ? Array.isArray(vector) : typeof vector === 'string')
  if (data.every(item => !isObject(item) || isWanted(item.embedding))) return undefined
  return data.map(item => {
    if (!isObject(item) || isWanted(item.embedding)) return item
    return { ...item, embedding: wanted === 'float' ? fromBase64(item.embedding) : toBase64(item.embedding) }
  })
}

/** Little-endian 32-bit floats, as OpenAI packs them. */
function toBase64(vector: unknown): unknown {
  if (!Array.isArray(vector)) return vector
  const bytes = Buffer.allocUnsafe(vector.length * 4)
  for (const [i, value] of vector.entries()) bytes.writeFloatLE(Number(value), i * 4)
  return bytes.toString('base64')
}

function fromBase64(vector: unknown): unknown {
  if (typeof vector !== 'string') return vector
  const bytes = Buffer.from(vector, 'base64')
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) => bytes.readFloatLE(i * 4))
}

/** Embeddings have no output tokens; some hosts report only the total. */
function decodeUsage(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined
  const inputTokens = tokenCount(usage.prompt_tokens) || tokenCount(usage.total_tokens)
  // No input has no tokens: a host that reports 0 reports nothing.
  return inputTokens === undefined || inputTokens === 0
    ? undefined
    : { inputTokens, outputTokens: 0, totalTokens: inputTokens }
}

function estimate({ input }: EmbeddingsRequest, limits: ModelLimits, measure: TokenMeasure): Usage {
  const items: readonly unknown[] = typeof input === 'string' ? [input] : input
  const tokens = items.map(item =>
    typeof item === 'string' ? measure.text(Buffer.byteLength(item)) : Array.isArray(item) ? item.length : 1,
  )
  const cap = limits.contextLength ?? Number.POSITIVE_INFINITY
  return { inputTokens: tokens.reduce((sum, count) => sum + Math.min(count, cap), 0), outputTokens: 0 }
}
