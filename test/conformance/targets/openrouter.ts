import { openAiLike } from '../openai-like.ts'
import { isBearer, type Target } from '../target.ts'

const described = openAiLike({
  provider: 'openrouter',
  source: 'openrouter.ai/docs, API reference and Reasoning Tokens',
  chat: {
    refuses: { messageFields: ['reasoning_content'], tools: ['custom'] },
    finds: { max_completion_tokens: 500, seed: 7 },
  },
  embeddings: {},
})

/** A channel that says who it is. */
export const target: Target = {
  ...described,
  channel: () => ({ headers: { 'X-Title': 'Acme' } }),
  isAuthorized: headers => isBearer(headers) && headers['x-title'] === 'Acme',
}
