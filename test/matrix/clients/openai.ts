import OpenAI from 'openai'
import type { Ask, Raised } from './client.ts'

/** The SDK that speaks two of the formats. */
export function openai({ baseUrl, apiKey, exchange }: Ask): OpenAI {
  return new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey, maxRetries: 0, fetch: exchange.fetch })
}

export function describeError(error: unknown): Raised {
  if (!(error instanceof OpenAI.APIError))
    return { kind: String(error), status: undefined, code: undefined, message: '' }
  const { status, code, message } = error
  return { kind: error.constructor.name, status, code: code ?? undefined, message }
}
