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

/** Anthropic's `POST /v1/messages`, and what other hosts speak in its image. */
export const messages: CountingFormat & ListingFormat = Object.freeze({
  name: 'messages',
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
