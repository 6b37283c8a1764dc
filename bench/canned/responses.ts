import { frame, INPUT_TOKENS, OUTPUT_TOKENS, type StreamScript, textOf, WORDS, withEndOfBody } from './stream.ts'

/** A stream as OpenAI words it in responses. */

const ITEM_ID = 'msg_68af4030baa48193b0b43b4c2a176a1a0d2b6a7c1f5e9d3b'
const PLACE = { item_id: ITEM_ID, output_index: 0, content_index: 0 }

const RESPONSE = {
  id: 'resp_68af4030592c81938ec0a5fbab4a3e9f05438e46b5f69a3b',
  object: 'response',
  created_at: 1_753_000_000,
  status: 'in_progress',
  background: false,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  model: 'upstream-model',
  output: [],
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  service_tier: 'default',
  store: true,
  temperature: 1,
  text: { format: { type: 'text' }, verbosity: 'medium' },
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  truncation: 'disabled',
  usage: null,
  user: null,
  metadata: {},
}

const USAGE = {
  input_tokens: INPUT_TOKENS,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: OUTPUT_TOKENS,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
}

/** Canned events cannot count: nobody in the bench looks at their numbers. */
const SEQUENCE_NUMBER = 4

function event(type: string, fields: Record<string, unknown>): Buffer {
  const data = JSON.stringify({ type, sequence_number: SEQUENCE_NUMBER, ...fields })
  return frame(`event: ${type}\ndata: ${data}\n\n`)
}

function message(status: string, content: readonly unknown[]): Record<string, unknown> {
  return { id: ITEM_ID, type: 'message', status, content, role: 'assistant' }
}

function outputText(text: string): Record<string, unknown> {
  return { type: 'output_text', annotations: [], logprobs: [], text }
}

export const responsesStream: StreamScript = ({ words }) => {
  const text = textOf(words)
  const part = outputText(text)
  const item = message('completed', [part])
  return {
    opening: [
      event('response.created', { response: RESPONSE }),
      event('response.in_progress', { response: RESPONSE }),
      event('response.output_item.added', { output_index: 0, item: message('in_progress', []) }),
      event('response.content_part.added', { ...PLACE, part: outputText('') }),
    ],
    words: WORDS.map(delta =>
      event('response.output_text.delta', {
        ...PLACE,
        delta,
        logprobs: [],
        obfuscation: 'V6TEvPjZ0b2c'.slice(delta.length),
      }),
    ),
    closing: withEndOfBody([
      event('response.output_text.done', { ...PLACE, text, logprobs: [] }),
      event('response.content_part.done', { ...PLACE, part }),
      event('response.output_item.done', { output_index: 0, item }),
      event('response.completed', { response: { ...RESPONSE, status: 'completed', output: [item], usage: USAGE } }),
    ]),
  }
}
