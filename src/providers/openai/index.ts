import type { Provider } from '../provider.ts'
import { chat } from './chat.ts'
import { embeddings } from './embeddings.ts'
import { responses } from './responses.ts'
import { tokenCount } from './token-count.ts'

/** OpenAI, and every host that speaks its API under another `base_url` (vLLM, Ollama, llama.cpp, Groq, …). */
export const openai: Provider = Object.freeze({
  name: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  auth: (apiKey: string | undefined) => (apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  probePath: '/models',
  operations: Object.freeze({ chat: [chat, responses], embeddings: [embeddings], 'token-count': [tokenCount] }),
})
