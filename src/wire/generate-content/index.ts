import type { CountingFormat, ListingFormat } from '../format.ts'
import { decodeRequest } from './decode-request.ts'
import { decodeResponse } from './decode-response.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeRequest } from './encode-request.ts'
import { encodeResponse } from './encode-response.ts'
import { encodeStream } from './encode-stream.ts'
import { decodeFault, encodeFault } from './fault.ts'
import { modelListing } from './model-list.ts'
import { passThrough } from './pass-through.ts'
import { tokenCounting } from './token-counting.ts'

/**
 * Google's `POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent`.
 *
 * Here the path says what other formats say in the body: the model, and whether to stream. `decodeRequest` and
 * `readRequest` take both from the members `model` and `stream` of the object that they are given; whoever reads the
 * path adds them to the parsed body, not to its raw bytes. `editRequest` and `encodeRequest` leave them out: the
 * provider puts both into the upstream's path.
 *
 * A stream is one of server-sent events, as with `alt=sse`. Without it Google sends the same chunks as the items of one
 * JSON array; that framing is the edge's affair.
 */
export const generateContent: CountingFormat & ListingFormat = Object.freeze({
  name: 'generate-content',
  decodeRequest,
  encodeRequest,
  decodeResponse,
  encodeResponse,
  decodeStream,
  encodeStream,
  decodeFault,
  encodeFault,
  passThrough,
  tokenCounting,
  modelListing,
} as const)
