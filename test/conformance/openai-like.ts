import { chatCompletions } from '../matrix/upstreams/chat-completions.ts'
import type { Json } from '../matrix/upstreams/dialect.ts'
import { type ChatTarget, type EmbeddingsTarget, isBearer, type Target } from './target.ts'

interface OpenAiLike
  extends Omit<Target, 'isAuthorized' | 'chat' | 'embeddings'>,
    Partial<Pick<Target, 'isAuthorized'>> {
  readonly chat?: Omit<Partial<ChatTarget>, 'format'> & {
    /** What it calls the limit on tokens. */
    readonly limit?: string
  }
  readonly embeddings?: Partial<EmbeddingsTarget>
}

/** A host that speaks OpenAI's API but for what is said. */
export function openAiLike({ chat, embeddings, ...about }: OpenAiLike): Target {
  return {
    isAuthorized: isBearer,
    ...about,
    ...(chat && { chat: chatOf(chat) }),
    ...(embeddings && { embeddings: { ...EMBEDDINGS, ...embeddings } }),
  }
}

function chatOf({ limit = 'max_completion_tokens', ...chat }: NonNullable<OpenAiLike['chat']>): ChatTarget {
  return {
    path: '/chat/completions',
    ...chat,
    format: 'chat-completions',
    read: (body, path) => chatCompletions.read({ ...body, max_completion_tokens: body[limit] }, path),
  }
}

const EMBEDDINGS: EmbeddingsTarget = {
  path: '/embeddings',
  finds: { input: ['one', 'two'], dimensions: 2 },
  answer: (vectors: readonly (readonly number[])[], body: Json) => ({
    object: 'list',
    data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    model: body.model,
    usage: { prompt_tokens: 7, total_tokens: 7 },
  }),
}
