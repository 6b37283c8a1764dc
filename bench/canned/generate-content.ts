import { frame, INPUT_TOKENS, OUTPUT_TOKENS, type StreamScript, WORDS, withEndOfBody } from './stream.ts'

/** A stream as Google words it: every event is a partial answer with usage so far, and its lines end with CR and LF. */

function event(text: string, finish: { finishReason?: string } = {}): Buffer {
  const answer = {
    candidates: [{ content: { parts: [{ text }], role: 'model' }, ...finish, index: 0 }],
    usageMetadata: {
      promptTokenCount: INPUT_TOKENS,
      candidatesTokenCount: OUTPUT_TOKENS,
      totalTokenCount: INPUT_TOKENS + OUTPUT_TOKENS,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: INPUT_TOKENS }],
    },
    modelVersion: 'upstream-model',
    responseId: 'nJ2LaKKjB8mUxN8P1uqZ2A4',
  }
  return frame(`data: ${JSON.stringify(answer)}\r\n\r\n`)
}

export const generateContentStream: StreamScript = () => ({
  opening: [],
  words: WORDS.map(text => event(text)),
  closing: withEndOfBody([event('', { finishReason: 'STOP' })]),
})
