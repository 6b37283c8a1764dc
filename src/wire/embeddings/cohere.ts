import { Fault } from '#core/fault.ts'
import { tokenCount, type Usage } from '#core/usage.ts'
import type { Answer, Exchange, Target } from '#core/work.ts'
import { isObject, tryParse } from '../json/parse.ts'
import { decodeFault } from '../openai-fault.ts'
import type { EmbeddingsRequest } from './request.ts'
import { packVector } from './vector.ts'

/** The format's name, as endpoints and `formats` have it. */
export const COHERE_EMBED = 'cohere-embed'

/** What a vector is for, when the caller does not say: Cohere's models need to know, OpenAI's have no such thing. */
const INPUT_TYPE_DEFAULT = 'search_document'

/**
 * Cohere's `POST /v2/embed` (API reference, "Embed API (v2)"), asked in OpenAI's words. Members that only Cohere has,
 * `input_type` and `truncate`, may stand in the request as Cohere calls them. Its compatibility API would refuse them,
 * and without the right `input_type` a search finds less.
 */
export function exchangeWithCohere(request: EmbeddingsRequest, target: Target): Exchange {
  const { input_type, truncate, dimensions } = request as EmbeddingsRequest & Record<string, unknown>
  const body = {
    model: target.upstreamModel,
    texts: textsOf(request.input),
    input_type: input_type ?? INPUT_TYPE_DEFAULT,
    embedding_types: ['float'],
    ...(dimensions != null && { output_dimension: dimensions }),
    ...(truncate != null && { truncate }),
  }
  return {
    body: Buffer.from(JSON.stringify(body)),
    headers: {},
    warnings: request.user == null ? [] : ['user has no equivalent in cohere-embed'],
    decodeAnswer: bytes => decodeAnswer(tryParse(bytes), request, target),
    decodeFault: (status, bytes) => decodeFault(status, tryParse(bytes)),
    openStream: () => {
      throw new TypeError('embeddings are never streamed')
    },
  }
}

/** @throws Fault for tokens: only who made them knows what they say */
function textsOf(input: EmbeddingsRequest['input']): readonly string[] {
  const texts: readonly unknown[] = typeof input === 'string' ? [input] : input
  if (texts.every(text => typeof text === 'string')) return texts
  throw new Fault('unsupported_parameter', '`input` must be text for this model: it takes no tokens.', {
    param: 'input',
  })
}

function decodeAnswer(body: unknown, { encoding_format: wanted }: EmbeddingsRequest, target: Target): Answer {
  const vectors = isObject(body) && isObject(body.embeddings) ? body.embeddings.float : undefined
  if (!isObject(body) || !Array.isArray(vectors)) {
    throw new Fault('upstream_error', 'The model provider sent an answer that holds no embeddings.')
  }
  const usage = decodeUsage(body.meta)
  const answer = {
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: wanted === 'base64' ? packVector(vector) : vector,
    })),
    model: target.publicModel,
    ...(usage && { usage: { prompt_tokens: usage.inputTokens, total_tokens: usage.inputTokens } }),
    ...(target.routing && { _routing: target.routing }),
  }
  return { body: Buffer.from(JSON.stringify(answer)), observed: { usage, outputBytes: 0, isFinished: true } }
}

/** What Cohere bills. */
function decodeUsage(meta: unknown): Usage | undefined {
  const billed = isObject(meta) && isObject(meta.billed_units) ? meta.billed_units : {}
  const inputTokens = tokenCount(billed.input_tokens)
  return inputTokens ? { inputTokens, outputTokens: 0, totalTokens: inputTokens } : undefined
}
