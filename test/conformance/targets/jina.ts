import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'jina',
  source: 'jina.ai/embeddings, API',
  embeddings: {
    finds: { input: ['one', 'two'], dimensions: 2, embedding_type: 'base64' },
    refuses: ['encoding_format', 'user'],
  },
})
