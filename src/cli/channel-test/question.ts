import type { Model } from '#catalog/catalog.ts'
import type { Work } from '#core/work.ts'
import { chatWork } from '#wire/chat.ts'
import { chatCompletions } from '#wire/chat-completions/index.ts'
import { embeddingsWork } from '#wire/embeddings/index.ts'

/** One thing that a model is asked, small enough to cost next to nothing. */
export interface Question {
  readonly family: Family
  readonly work: Work
}

export type Family = 'chat' | 'chat stream' | 'tool call' | 'embeddings'

/** Enough for a word, and for a little thinking before it. */
const OUTPUT_TOKENS_MAX = 128

const TOOL = {
  type: 'function',
  function: {
    name: 'report_ready',
    description: 'Say that you are ready',
    parameters: { type: 'object', properties: { ready: { type: 'boolean' } }, required: ['ready'] },
  },
}

/** What a model is asked, by what it can do; nothing where no question is known for its kind of work. */
export function questionsFor({ id, scene, capabilities }: Model): Question[] {
  const chat = (family: Family, text: string, more: object = {}): Question => ({
    family,
    work: chatWork(
      chatCompletions,
      encode({
        model: id,
        messages: [{ role: 'user', content: text }],
        max_completion_tokens: OUTPUT_TOKENS_MAX,
        ...more,
      }),
    ),
  })
  if (scene === 'embedding')
    return [{ family: 'embeddings', work: embeddingsWork(encode({ model: id, input: 'ready' })) }]
  if (scene !== 'chat') return []
  return [
    chat('chat', 'Answer with the word "ready".'),
    chat('chat stream', 'Answer with the word "ready".', { stream: true }),
    ...(capabilities.includes('tools') ? [chat('tool call', 'Call the tool report_ready.', { tools: [TOOL] })] : []),
  ]
}

function encode(body: object): Buffer {
  return Buffer.from(JSON.stringify(body))
}
