import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { type Content, type GenerateContentResponse, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { Gateway } from '../support/gateway.ts'
import {
  chatVendor,
  contentVendor,
  messagesVendor,
  playVendors,
  responsesVendor,
  THOUGHT,
  WORDS,
} from '../support/thinking-vendors.ts'
import { ScriptedUpstream } from '../support/upstream.ts'

/**
 * Tool loops of models that think, with every client SDK over every upstream format, whole and streamed. The clients
 * send back the assistant's turn exactly as their SDK gives it.
 */

const VENDORS = [chatVendor, messagesVendor, responsesVendor, contentVendor]
const PROVIDERS = {
  'chat-completions': { provider: 'openai', path: '/v1' },
  responses: { provider: 'openai', path: '/v1' },
  messages: { provider: 'anthropic', path: '/v1' },
  'generate-content': { provider: 'google', path: '/v1beta' },
} as const

let upstream: ScriptedUpstream
let gateway: Gateway

function config(url: string): string {
  const channels = VENDORS.map(({ format }) => {
    const { provider, path } = PROVIDERS[format]
    return `  - { id: ${format}, provider: ${provider}, base_url: "${url}${path}", api_key: sk-upstream, formats: [${format}] }`
  })
  const models = VENDORS.map(
    ({ format }) => `  - id: via-${format}
    scene: chat
    context_length: 128000
    max_output_tokens: 32000
    price: { input: "1", output: "2", per: 1M }
    offers: [{ channel: ${format}, upstream_model: m }]`,
  )
  return `channels:\n${channels.join('\n')}\nmodels:\n${models.join('\n')}\n`
}

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const

interface Turn {
  readonly text: string
  readonly thought: string
  readonly calls: readonly { readonly id: string; readonly arguments: unknown }[]
}

/** A conversation of one SDK, which keeps what was said in its own words. */
interface Conversation {
  say(text: string): void
  /** The results of the tools that the last turn called. */
  answerCalls(turn: Turn): void
  ask(model: string, way: 'whole' | 'stream'): Promise<Turn>
}

function chatConversation(): Conversation {
  const client = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: gateway.apiKey, maxRetries: 0 })
  const messages: OpenAI.Chat.ChatCompletionMessageParam[] = []
  return {
    say: content => messages.push({ role: 'user', content }),
    answerCalls: ({ calls }) => {
      for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: 'Rain' })
    },
    ask: async (model, way) => {
      const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters: SCHEMA } }]
      const request = { model, messages, tools, reasoning_effort: 'high' as const }
      const answer =
        way === 'whole'
          ? await client.chat.completions.create(request)
          : await client.chat.completions.stream(request).finalChatCompletion()
      const message = answer.choices[0]?.message
      assert.ok(message)
      messages.push(message)
      const details = (message as { reasoning_details?: { text?: string }[] }).reasoning_details ?? []
      const { reasoning_content: plain, reasoning = plain } = message as {
        reasoning_content?: string
        reasoning?: string
      }
      return {
        text: message.content ?? '',
        thought: details.map(({ text = '' }) => text).join('') || (reasoning ?? ''),
        calls: (message.tool_calls ?? []).flatMap(call =>
          call.type === 'function' ? { id: call.id, arguments: JSON.parse(call.function.arguments) } : [],
        ),
      }
    },
  }
}

function messagesConversation(): Conversation {
  const client = new Anthropic({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 })
  const messages: Anthropic.MessageParam[] = []
  return {
    say: content => messages.push({ role: 'user', content }),
    answerCalls: ({ calls }) => {
      const content = calls.map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: 'Rain' }))
      messages.push({ role: 'user', content })
    },
    ask: async (model, way) => {
      const request: Anthropic.MessageCreateParamsNonStreaming = {
        model,
        messages,
        max_tokens: 4000,
        thinking: { type: 'enabled', budget_tokens: 2000 },
        tools: [{ name: 'get_weather', input_schema: SCHEMA as unknown as Anthropic.Tool.InputSchema }],
      }
      const { role, content } =
        way === 'whole' ? await client.messages.create(request) : await client.messages.stream(request).finalMessage()
      messages.push({ role, content })
      return {
        text: content.map(block => (block.type === 'text' ? block.text : '')).join(''),
        thought: content.map(block => (block.type === 'thinking' ? block.thinking : '')).join(''),
        calls: content.flatMap(block => (block.type === 'tool_use' ? { id: block.id, arguments: block.input } : [])),
      }
    },
  }
}

function responsesConversation(): Conversation {
  const client = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: gateway.apiKey, maxRetries: 0 })
  const input: OpenAI.Responses.ResponseInputItem[] = []
  return {
    say: content => input.push({ role: 'user', content }),
    answerCalls: ({ calls }) => {
      for (const { id } of calls) input.push({ type: 'function_call_output', call_id: id, output: 'Rain' })
    },
    ask: async (model, way) => {
      const request: Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'> = {
        model,
        input,
        store: false,
        include: ['reasoning.encrypted_content'],
        reasoning: { effort: 'high', summary: 'auto' },
        tools: [{ type: 'function', name: 'get_weather', parameters: SCHEMA, strict: false }],
      }
      const { output, output_text: text } =
        way === 'whole'
          ? await client.responses.create(request)
          : await client.responses.stream(request).finalResponse()
      input.push(...(output as OpenAI.Responses.ResponseInputItem[]))
      return {
        text,
        thought: output
          .flatMap(item => (item.type === 'reasoning' ? item.summary.map(each => each.text) : []))
          .join(''),
        calls: output.flatMap(item =>
          item.type === 'function_call' ? { id: item.call_id, arguments: JSON.parse(item.arguments) } : [],
        ),
      }
    },
  }
}

function contentConversation(): Conversation {
  const client = new GoogleGenAI({ apiKey: gateway.apiKey, httpOptions: { baseUrl: gateway.baseUrl } })
  const contents: Content[] = []
  return {
    say: text => contents.push({ role: 'user', parts: [{ text }] }),
    answerCalls: ({ calls }) => {
      const name = 'get_weather'
      const parts = calls.map(({ id }) => ({ functionResponse: { id, name, response: { output: 'Rain' } } }))
      contents.push({ role: 'user', parts })
    },
    ask: async (model, way) => {
      const tools = [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: SCHEMA }] }]
      const request = { model, contents, config: { tools, thinkingConfig: { includeThoughts: true } } }
      const pieces: GenerateContentResponse[] = []
      if (way === 'whole') pieces.push(await client.models.generateContent(request))
      else for await (const piece of await client.models.generateContentStream(request)) pieces.push(piece)
      const parts = pieces.flatMap(piece => piece.candidates?.[0]?.content?.parts ?? [])
      contents.push({ role: 'model', parts })
      const textOf = (isThought: boolean) =>
        parts.map(part => (Boolean(part.thought) === isThought ? (part.text ?? '') : '')).join('')
      return {
        text: textOf(false),
        thought: textOf(true),
        calls: parts.flatMap(({ functionCall: call }) => (call ? { id: call.id ?? '', arguments: call.args } : [])),
      }
    },
  }
}

const CLIENTS = {
  'chat-completions': chatConversation,
  messages: messagesConversation,
  responses: responsesConversation,
  'generate-content': contentConversation,
} as const

before(async () => {
  upstream = await ScriptedUpstream.start(playVendors(VENDORS))
  gateway = await Gateway.start({ config: config(upstream.url) })
})

after(async () => {
  await gateway?.stop()
  await upstream?.stop()
})

for (const [client, open] of Object.entries(CLIENTS)) {
  describe(`a tool loop of the ${client} client`, () => {
    for (const { format, seals } of VENDORS) {
      const model = `via-${format}`
      for (const way of ['whole', 'stream'] as const) {
        it(`brings ${format} its own seals back, ${way}`, async () => {
          const conversation = open()
          conversation.say('How is the weather in Bern and Basel?')
          const turn = await conversation.ask(model, way)
          assert.deepEqual(
            turn.calls.map(call => call.arguments),
            [{ city: 'Bern' }, { city: 'Basel' }],
          )
          // OpenAI's client for Node keeps the last piece of a field that it does not know, here of OpenRouter's own.
          if (client !== format || way === 'whole') assert.equal(turn.thought, THOUGHT)
          conversation.answerCalls(turn)
          const answer = await conversation.ask(model, way)
          assert.equal(answer.text, WORDS)
          const told = upstream.seen.at(-1)?.text ?? ''
          for (const seal of seals) assert.ok(told.includes(seal), `${seal} is in ${told}`)
        })

        it(`goes on with every other vendor after ${format}, in the loop and after it, ${way}`, async () => {
          for (const other of VENDORS.filter(each => each.format !== format)) {
            const conversation = open()
            conversation.say('How is the weather in Bern and Basel?')
            conversation.answerCalls(await conversation.ask(model, way))
            assert.equal((await conversation.ask(`via-${other.format}`, way)).text, WORDS)
            conversation.say('And the weather in Geneva?')
            const turn = await conversation.ask(`via-${other.format}`, way)
            conversation.answerCalls(turn)
            assert.equal((await conversation.ask(`via-${other.format}`, way)).text, WORDS)
            conversation.say('Thanks. Was it the same yesterday?')
            assert.equal((await conversation.ask(model, way)).text, WORDS)
          }
        })
      }
    }
  })
}
