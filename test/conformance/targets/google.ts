import { KEY, type Target } from '../target.ts'

export const target: Target = {
  provider: 'google',
  source: 'Gemini API reference, Generating content',
  isAuthorized: headers => headers['x-goog-api-key'] === KEY,
  chat: {
    format: 'generate-content',
    path: '/models/{model}:generateContent',
    streamPath: '/models/{model}:streamGenerateContent?alt=sse',
  },
}
