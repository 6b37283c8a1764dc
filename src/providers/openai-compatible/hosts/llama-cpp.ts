import { host } from '../host.ts'

/** A llama.cpp server (README of `llama-server`), which like the gateway listens on port 8080 unless told otherwise. */
export const llamaCpp = host({
  name: 'llama-cpp',
  baseUrl: 'http://localhost:8080/v1',
  serves: ['chat', 'embeddings'],
  quirks: { customTools: false },
})
