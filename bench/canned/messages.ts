import { frame, INPUT_TOKENS, OUTPUT_TOKENS, type StreamScript, WORDS, withEndOfBody } from './stream.ts'

/** A stream as Anthropic words it. */

const MESSAGE = {
  id: 'msg_01XFDUDYJgAACzvnptvVoYEL',
  type: 'message',
  role: 'assistant',
  model: 'upstream-model',
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: {
    input_tokens: INPUT_TOKENS,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 1,
    service_tier: 'standard',
  },
}

function event(type: string, fields: Record<string, unknown>): Buffer {
  return frame(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
}

export const messagesStream: StreamScript = () => ({
  opening: [
    event('message_start', { message: MESSAGE }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('ping', {}),
  ],
  words: WORDS.map(text => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
  closing: withEndOfBody([
    event('content_block_stop', { index: 0 }),
    event('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: OUTPUT_TOKENS },
    }),
    event('message_stop', {}),
  ]),
})
