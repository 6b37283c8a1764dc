import type { CountingFormat } from '../format.ts'
import { decodeRequest } from './decode-request.ts'
import { decodeResponse } from './decode-response.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeRequest } from './encode-request.ts'
import { encodeResponse } from './encode-response.ts'
import { encodeStream } from './encode-stream.ts'
import { decodeFault, encodeFault } from './fault.ts'
import { passThrough } from './pass-through.ts'
import { tokenCounting } from './token-counting.ts'

/** OpenAI's `POST /v1/responses`. Stored responses are not kept here: what refers to them is only carried. */
export const responses: CountingFormat = Object.freeze({
  name: 'responses',
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
} as const)
