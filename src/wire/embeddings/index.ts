import { Fault } from '#core/fault.ts'
import { tokenCount, type Usage } from '#core/usage.ts'
import type { Answer, Exchange, ModelLimits, Target, Work } from '#core/work.ts'
import { addMember, applyEdits, type Edit, setMember } from '../json/edit.ts'
import { isObject, parseJsonObject, tryParse } from '../json/parse.ts'
import { refusedMembers, respellMembers } from '../json/respell.ts'
import { decodeFault } from '../openai-fault.ts'
import { CAUTIOUS, type TokenMeasure, TYPICAL } from '../token-estimate.ts'
import { COHERE_EMBED, exchangeWithCohere } from './cohere.ts'
import { type EmbeddingsRequest, validateRequest } from './request.ts'
import { packVector, unpackVector } from './vector.ts'

/** A client's embeddings request as the relay takes it. @throws Fault `invalid_request` naming the field */
export function embeddingsWork(bytes: Buffer): Work {
  const body: unknown = parseJsonObject(bytes)
  validateRequest(body)
  const request = body
  return {
    scene: 'embedding',
    operation: 'embeddings',
    format: 'embeddings',
    model: request.model,
    isStream: false,
    identity: [bytes],
    estimate: limits => estimate(request, limits, TYPICAL),
    bound: limits => estimate(request, limits, CAUTIOUS),
    encode: target =>
      target.format === COHERE_EMBED ? exchangeWithCohere(request, target) : encode(bytes, request, target),
  }
}

function encode(bytes: Buffer, request: EmbeddingsRequest, target: Target): Exchange {
  const { fields = {} } = target.quirks
  const edits = Object.keys(fields).length === 0 ? [] : respellMembers(bytes, fields)
  if (request.model !== target.upstreamModel) {
    edits.push(setMember(bytes, 'model', JSON.stringify(target.upstreamModel)))
  }
  return {
    body: applyEdits(bytes, edits),
    headers: {},
    warnings: refusedMembers(request, fields)
      // Whatever the host sends is recoded as it was asked for.
      .filter(field => field !== 'encoding_format')
      .map(field => `${field} is not taken by this provider`),
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
    return { ...item, embedding: wanted === 'float' ? unpackVector(item.embedding) : packVector(item.embedding) }
  })
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
