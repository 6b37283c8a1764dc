import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'perplexity',
  source: 'docs.perplexity.ai, OpenAI SDK Compatibility',
  chat: {
    limit: 'max_tokens',
    refuses: { roles: ['developer'] },
    lacks: {
      'tool call': 'Sonar has no tools',
      'parallel calls and their results': 'Sonar has no tools',
    },
    finds: { max_tokens: 500 },
  },
})
