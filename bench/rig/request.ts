import type { Contender } from './contenders.ts'

const MESSAGES = [
  { role: 'system', content: 'You are a helpful assistant. Answer in one or two plain sentences.' },
  { role: 'user', content: 'Why is the sky blue at noon, and red when the sun goes down? Explain it to a child.' },
]

/** A chat request's bytes, as an SDK would send them. */
export function chatRequest({ port, headers, model }: Contender, { isStream }: { isStream: boolean }): string {
  const body = JSON.stringify({ model, messages: MESSAGES, temperature: 0.7, max_tokens: 256, stream: isStream })
  const fields = {
    host: `127.0.0.1:${port}`,
    'content-type': 'application/json',
    accept: isStream ? 'text/event-stream' : 'application/json',
    'user-agent': 'tollgate-bench',
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST /v1/chat/completions HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
