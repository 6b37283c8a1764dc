import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'voyage',
  source: 'docs.voyageai.com, Text embedding models',
  embeddings: {
    finds: { input: ['one', 'two'], output_dimension: 2 },
    refuses: ['dimensions', 'encoding_format', 'user'],
  },
})
