/** The upstream's answers, made once, as OpenAI words them and with the framing of HTTP around them. */

const CHUNK = {
  id: 'chatcmpl-BxYQ2Zc8mUe4vT6sWnR1kLpD3hGfA',
  object: 'chat.completion.chunk',
  created: 1_753_000_000,
  model: 'upstream-model',
  system_fingerprint: 'fp_07871e2ad8',
}

const WORDS = ' The quick brown fox jumps over a lazy dog while seven wizards quietly box'.match(/ \w+/g) ?? []

const USAGE = {
  prompt_tokens: 24,
  completion_tokens: 61,
  total_tokens: 85,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
}

/** One piece of a chunked body: a server-sent event, or several. */
function frame(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}

function event(fields: Record<string, unknown>): string {
  return `data: ${JSON.stringify({ ...CHUNK, ...fields })}\n\n`
}

function delta(content: Record<string, unknown>, finish: string | null = null): Record<string, unknown> {
  return { choices: [{ index: 0, delta: content, logprobs: null, finish_reason: finish }] }
}

/** The frames of a stream. Asked for usage, OpenAI adds it as `null` to every chunk before the one that has it. */
function framesOf(extra: { usage?: null }): StreamFrames {
  const eventFrame = (fields: Record<string, unknown>) => Buffer.from(frame(event({ ...fields, ...extra })))
  return {
    first: eventFrame(delta({ role: 'assistant', content: '', refusal: null })),
    words: WORDS.map(content => eventFrame(delta({ content }))),
    finish: eventFrame(delta({}, 'stop')),
  }
}

export interface StreamFrames {
  readonly first: Buffer
  readonly words: readonly Buffer[]
  readonly finish: Buffer
}

export const PLAIN_FRAMES = framesOf({})
export const USAGE_FRAMES = framesOf({ usage: null })
export const USAGE_FRAME = Buffer.from(frame(event({ choices: [], usage: USAGE })))
/** The last event and the end of the chunked body. */
export const DONE_FRAME = Buffer.from(`${frame('data: [DONE]\n\n')}0\r\n\r\n`)

export const STREAM_HEAD = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n',
)

const COMPLETION = JSON.stringify({
  id: CHUNK.id,
  object: 'chat.completion',
  created: CHUNK.created,
  model: CHUNK.model,
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: WORDS.join('').trim(), refusal: null, annotations: [] },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: USAGE,
  system_fingerprint: CHUNK.system_fingerprint,
})

export const WHOLE_ANSWER = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${COMPLETION.length}\r\n\r\n${COMPLETION}`,
)
