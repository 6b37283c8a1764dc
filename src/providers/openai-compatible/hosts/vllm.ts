import { host } from '../host.ts'

/** A vLLM server (its docs, "OpenAI-Compatible Server"): `parallel_tool_calls` and `user` are ignored there. */
export const vllm = host({
  name: 'vllm',
  baseUrl: 'http://localhost:8000/v1',
  serves: ['chat', 'embeddings'],
  quirks: { customTools: false },
})
