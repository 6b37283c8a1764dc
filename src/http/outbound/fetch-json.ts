import { request } from 'undici'

export interface JsonAnswer {
  readonly status: number
  /** `undefined` when it is no JSON. */
  readonly body: unknown
}

const TIMEOUT_MS = 10_000
/** Read so far and no further: what is asked for here is small. */
const ANSWER_BYTES_MAX = 1024 * 1024

/**
 * Asks for a small JSON document, beside the traffic that is relayed: a `POST` with form fields, a `GET` without.
 *
 * @throws Error when there is no answer
 */
export async function fetchJson(
  url: string,
  { form, headers = {} }: { form?: Readonly<Record<string, string>>; headers?: Readonly<Record<string, string>> } = {},
): Promise<JsonAnswer> {
  const { statusCode, body } = await request(url, {
    method: form ? 'POST' : 'GET',
    headers: { accept: 'application/json', ...(form && { 'content-type': FORM }), ...headers },
    body: form ? new URLSearchParams(form).toString() : null,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > ANSWER_BYTES_MAX) break
    chunks.push(chunk)
  }
  return { status: statusCode, body: tryParse(Buffer.concat(chunks).toString()) }
}

const FORM = 'application/x-www-form-urlencoded'

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
