import { frame, INPUT_TOKENS, OUTPUT_TOKENS, type StreamScript, WORDS, withEndOfBody } from './stream.ts'

/** Answers as OpenAI words them in chat completions. */

const HEAD = {
  id: 'chatcmpl-BxYQ2Zc8mUe4vT6sWnR1kLpD3hGfA',
  created: 1_753_000_000,
  model: 'upstream-model',
  system_fingerprint: 'fp_07871e2ad8',
}

const USAGE = {
  prompt_tokens: INPUT_TOKENS,
  completion_tokens: OUTPUT_TOKENS,
  total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
}

function chunk(fields: Record<string, unknown>): Buffer {
  const { id, created, model, system_fingerprint } = HEAD
  const head = { id, object: 'chat.completion.chunk', created, model, system_fingerprint }
  return frame(`data: ${JSON.stringify({ ...head, ...fields })}\n\n`)
}

/** Asked for usage, OpenAI adds it as `null` to every chunk before the one that has it. */
export const chatCompletionsStream: StreamScript = ({ hasUsage }) => {
  const usage = hasUsage ? { usage: null } : {}
  const delta = (content: Record<string, unknown>, finish: string | null = null) =>
    chunk({ choices: [{ index: 0, delta: content, logprobs: null, finish_reason: finish }], ...usage })
  return {
    opening: [delta({ role: 'assistant', content: '', refusal: null })],
    words: WORDS.map(content => delta({ content })),
    closing: withEndOfBody([
      delta({}, 'stop'),
      ...(hasUsage ? [chunk({ choices: [], usage: USAGE })] : []),
      frame('data: [DONE]\n\n'),
    ]),
  }
}

const COMPLETION = JSON.stringify({
  id: HEAD.id,
  object: 'chat.completion',
  created: HEAD.created,
  model: HEAD.model,
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: WORDS.join('').trim(), refusal: null, annotations: [] },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: USAGE,
  system_fingerprint: HEAD.system_fingerprint,
})

export const WHOLE_ANSWER = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${COMPLETION.length}\r\n\r\n${COMPLETION}`,
)
