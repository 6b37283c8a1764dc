import { Fault } from '#core/fault.ts'
import { tokenCount } from '#core/usage.ts'
import type { Target } from '#core/work.ts'
import type { TokenCounting } from '../format.ts'
import { isObject } from '../json/parse.ts'
import type { Json } from './decode-parts.ts'

/** `POST /v1beta/models/{model}:countTokens` (Gemini API reference, "Counting tokens"). */
export const tokenCounting: TokenCounting = Object.freeze({ readRequest, encodeRequest, decodeAnswer, encodeAnswer })

/** A request stands in the question, or only its contents do. */
function readRequest({ model, ...body }: Json): Json {
  const request = body.generateContentRequest ?? body.generate_content_request
  return { ...(isObject(request) ? request : body), model, stream: false }
}

/** How long the answer may get is no part of the question, and a translated request may say it all the same. */
function encodeRequest({ stream: _, generationConfig, ...request }: Json, { upstreamModel }: Target): Json {
  const { maxOutputTokens: _max, ...config } = isObject(generationConfig) ? generationConfig : {}
  const configured = Object.keys(config).length === 0 ? request : { ...request, generationConfig: config }
  return { generateContentRequest: { ...configured, model: `models/${upstreamModel}` } }
}

function decodeAnswer(body: unknown): number {
  const tokens = isObject(body) ? tokenCount(body.totalTokens) : undefined
  if (tokens === undefined) throw new Fault('upstream_error', 'The model provider sent an answer that is no count.')
  return tokens
}

function encodeAnswer(tokens: number): Json {
  return { totalTokens: tokens }
}
