import { openAiLike } from '../openai-like.ts'

export const target = openAiLike({
  provider: 'llama-cpp',
  source: 'github.com/ggml-org/llama.cpp, tools/server/README.md',
  chat: { refuses: { tools: ['custom'] }, finds: { seed: 7 } },
  embeddings: {},
})
