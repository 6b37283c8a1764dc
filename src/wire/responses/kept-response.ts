import { findMember } from '../json/members.ts'
import { isObject, tryParse } from '../json/parse.ts'
import { decodeFrame } from '../sse/frame.ts'
import { FrameSplitter } from '../sse/split.ts'
import type { Json } from './decode-item.ts'
import { itemId } from './encode-item.ts'
import type { ResponsesRequest } from './schema.ts'
import { isReference } from './self-contained.ts'

/** What the gateway keeps of a request and its answer. */
export interface KeptResponse {
  /** JSON texts. */
  readonly input: string
  readonly response: string
  /** Of all items, those of the request's earlier turns excepted. */
  readonly itemIds: readonly string[]
}

/**
 * What there is to keep once an answer has been given.
 *
 * @param request as the client sent it
 * @param lastBytes the whole answer, or the end of a stream, as the client gets it
 * @returns `undefined` unless the answer ended well
 */
export function keptResponse(
  request: ResponsesRequest,
  responseId: string,
  lastBytes: Uint8Array,
): KeptResponse | undefined {
  const bytes = request.stream === true ? responseInStream(lastBytes) : Buffer.from(lastBytes)
  const response = tryParse(bytes)
  if (!isObject(response) || !ENDINGS.has(response.status) || !Array.isArray(response.output)) return undefined
  const input = inputItems(request.input, responseId)
  return {
    input: JSON.stringify(input),
    response: bytes.toString(),
    itemIds: [...input.filter(item => !isReference(item)), ...response.output.filter(isObject)].flatMap(idOf),
  }
}

const ENDINGS = new Set<unknown>(['completed', 'incomplete'])

/** The last event of a stream repeats the whole response. */
function responseInStream(lastBytes: Uint8Array): Buffer {
  const splitter = new FrameSplitter({ frameBytesMax: lastBytes.length })
  const whole = splitter.push(Buffer.from(lastBytes))
  const last = splitter.flush() ?? whole.at(-1) ?? Buffer.alloc(0)
  const data = Buffer.from(decodeFrame(last).data ?? '')
  const member = findMember(data, 'response')
  return data.subarray(member?.valueStart ?? 0, member?.valueEnd)
}

/** A request's input as items, each with an id by which it can be named later. */
function inputItems(input: ResponsesRequest['input'], responseId: string): Json[] {
  const items: readonly Json[] =
    typeof input === 'string' ? [{ role: 'user', content: [{ type: 'input_text', text: input }] }] : (input ?? [])
  return items.map((item, index) => {
    if (isReference(item)) return { type: 'item_reference', id: item.id }
    const { id, type, ...fields } = item
    const known = typeof type === 'string' ? type : 'message'
    return { id: id ?? itemId(responseId, known, `in${index}`), type: known, ...fields }
  })
}

function idOf({ id }: Json): string[] {
  return typeof id === 'string' ? [id] : []
}
