import type { WireFormat } from '../format.ts'
import { decodeFault, encodeFault } from '../openai-fault.ts'
import { decodeRequest } from './decode-request.ts'
import { decodeResponse } from './decode-response.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeRequest } from './encode-request.ts'
import { encodeResponse } from './encode-response.ts'
import { encodeStream } from './encode-stream.ts'
import { passThrough } from './pass-through.ts'

/** OpenAI's `POST /v1/chat/completions`, and what hundreds of hosts speak in its image. */
export const chatCompletions: WireFormat = Object.freeze({
  name: 'chat-completions',
  decodeRequest,
  encodeRequest,
  decodeResponse,
  encodeResponse,
  decodeStream,
  encodeStream,
  decodeFault,
  encodeFault,
  passThrough,
} as const)
