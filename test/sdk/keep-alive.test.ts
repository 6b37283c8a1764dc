import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { Gateway } from '../support/gateway.ts'
import { chunk, configFor, DONE, lastChunk, type Script, ScriptedUpstream, usageChunk } from '../support/upstream.ts'

/** A model that thinks for minutes before it says a word, sped up: the upstream waits until a sign of life is seen. */

let upstream: ScriptedUpstream
let gateway: Gateway

before(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await Gateway.start({ config: configFor(upstream.url, 'streams: { keep_alive: 50ms }') })
})

after(async () => {
  await gateway?.stop()
  await upstream?.stop()
})

/** Answers "Hel", and the rest only when `mayGoOn` resolves. With `isMute` not even the first word. */
function hesitating(mayGoOn: Promise<void>, { isMute = false } = {}): Script {
  return async (_request, response) => {
    response.setHeader('content-type', 'text/event-stream')
    response.flushHeaders()
    if (!isMute) response.write(chunk({ role: 'assistant', content: 'Hel' }))
    await mayGoOn
    const rest = isMute ? chunk({ role: 'assistant', content: 'Hello' }) : chunk({ content: 'lo' })
    response.end(rest + lastChunk() + usageChunk() + DONE)
  }
}

const MODEL = 'test-chat'

const CLIENTS: Readonly<Record<string, { sign: string; ask: () => Promise<string> }>> = {
  'chat-completions': {
    sign: ': keep-alive\n\n',
    ask: async () => {
      const client = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: gateway.apiKey, maxRetries: 0 })
      const stream = client.chat.completions.stream({ model: MODEL, messages: [{ role: 'user', content: 'Hi' }] })
      return (await stream.finalContent()) ?? ''
    },
  },
  responses: {
    sign: ': keep-alive\n\n',
    ask: async () => {
      const client = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: gateway.apiKey, maxRetries: 0 })
      return (await client.responses.stream({ model: MODEL, input: 'Hi' }).finalResponse()).output_text
    },
  },
  messages: {
    sign: 'event: ping\ndata: {"type":"ping"}\n\n',
    ask: async () => {
      const client = new Anthropic({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 })
      const request = { model: MODEL, max_tokens: 50, messages: [{ role: 'user' as const, content: 'Hi' }] }
      return client.messages.stream(request).finalText()
    },
  },
  'generate-content': {
    sign: ': keep-alive\n\n',
    ask: async () => {
      const client = new GoogleGenAI({ apiKey: gateway.apiKey, httpOptions: { baseUrl: gateway.baseUrl } })
      let text = ''
      for await (const piece of await client.models.generateContentStream({ model: MODEL, contents: 'Hi' })) {
        text += piece.text ?? ''
      }
      return text
    },
  },
}

/** Runs `ask` with a look at the bytes that arrive; resolves `seen` at the first `sign` among them. */
async function watching<T>(sign: string, seen: () => void, ask: () => Promise<T>): Promise<T> {
  const original = globalThis.fetch
  globalThis.fetch = async (input, init) => {
    const response = await original(input, init)
    let text = ''
    const look = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        text += Buffer.from(bytes).toString()
        if (text.includes(sign)) seen()
        controller.enqueue(bytes)
      },
    })
    return new Response(response.body?.pipeThrough(look), response)
  }
  try {
    return await ask()
  } finally {
    globalThis.fetch = original
  }
}

describe('a silent stream', () => {
  for (const [format, { sign, ask }] of Object.entries(CLIENTS)) {
    for (const isMute of [false, true]) {
      const when = isMute ? 'before its first word' : 'in its middle'
      it(`is shown to be alive ${when}, and the ${format} SDK reads on`, { timeout: 20_000 }, async () => {
        const { promise, resolve } = Promise.withResolvers<void>()
        upstream.script = hesitating(promise, { isMute })
        assert.equal(await watching(sign, resolve, ask), 'Hello')
      })
    }
  }

  it('is a JSON array for a client that asks for no events, white space showing that it is alive', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    upstream.script = hesitating(promise)
    const path = `/v1beta/models/${MODEL}:streamGenerateContent`
    const text = await watching('}\n', resolve, async () => {
      const response = await gateway.post(path, { contents: [{ parts: [{ text: 'Hi' }] }] })
      assert.equal(response.headers.get('content-type'), 'application/json')
      return response.text()
    })
    const pieces = JSON.parse(text) as { candidates?: { content?: { parts?: { text?: string }[] } }[] }[]
    const words = pieces.flatMap(piece => piece.candidates?.[0]?.content?.parts ?? []).map(part => part.text)
    assert.equal(words.join(''), 'Hello')
  })

  it('that breaks off is an array with an error at its end', async () => {
    upstream.script = (_request, response) => {
      response.setHeader('content-type', 'text/event-stream')
      response.end(chunk({ content: 'Hel' }))
    }
    const response = await gateway.post(`/v1beta/models/${MODEL}:streamGenerateContent`, {
      contents: [{ parts: [{ text: 'Hi' }] }],
    })
    const pieces = (await response.json()) as { error?: { status: string } }[]
    assert.equal(pieces.at(-1)?.error?.status, 'UNAVAILABLE')
  })

  it('is not begun while the upstream has not, so that an error can still be told by its status', async () => {
    const refused = Promise.withResolvers<void>()
    const seen = Promise.withResolvers<void>()
    const hesitate = hesitating(seen.promise)
    upstream.script = async (request, response, socket) => {
      if (!request.text.includes('Refuse')) return hesitate(request, response, socket)
      await refused.promise
      response.statusCode = 400
      response.end(JSON.stringify({ error: { message: 'No.', type: 'invalid_request_error' } }))
    }
    const messages = [{ role: 'user', content: 'Refuse' }]
    const pending = gateway.post('/v1/chat/completions', { model: MODEL, messages, stream: true })
    // A stream begun later is kept alive meanwhile: the time for it has come and gone.
    await watching(': keep-alive', seen.resolve, (CLIENTS['chat-completions'] as { ask: () => Promise<string> }).ask)
    refused.resolve()
    assert.equal((await pending).status, 400)
  })
})
