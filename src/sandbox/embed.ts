import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import type { Mountable } from '@copilotkit/aimock'
import { countTokens } from './tokens.ts'

const DIMENSIONS_DEFAULT = 256

/** An embeddings endpoint whose vectors mean something: words counted into dimensions, so that like texts are near. */
export const embeddingsMount: Mountable = {
  async handleRequest(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const { model, input, dimensions } = (await json(request)) as { model: string; input: unknown; dimensions?: number }
    const texts = (Array.isArray(input) ? input : [input]).map(text => (typeof text === 'string' ? text : String(text)))
    const data = texts.map((text, index) => ({
      object: 'embedding',
      index,
      embedding: embed(text, dimensions ?? DIMENSIONS_DEFAULT),
    }))
    const counts = await Promise.all(texts.map(countTokens))
    const tokens = counts.reduce((sum, count) => sum + count, 0)
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({ object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } }),
    )
    return true
  },
}

/** Each word adds to one dimension, up or down; the vector has length 1. */
function embed(text: string, dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0)
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const hash = createHash('sha256').update(word).digest()
    const dimension = hash.readUInt32LE(0) % dimensions
    vector[dimension] = (vector[dimension] ?? 0) + ((hash[4] ?? 0) % 2 === 0 ? 1 : -1)
  }
  const length = Math.hypot(...vector) || 1
  return vector.map(value => value / length)
}
