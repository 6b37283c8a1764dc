import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { type ChatCompletionRequest, type Fixture, LLMock } from '@copilotkit/aimock'
import {
  generateText,
  isStepCount,
  type LanguageModel,
  type LanguageModelUsage,
  type StepResult,
  streamText,
  type ToolSet,
} from 'ai'
import {
  ANSWER,
  CodingFolder,
  FIXTURES,
  MISSING_FILE_PROMPT,
  OPENING,
  PROMPT,
  remembers,
  SORRY,
  STEP_TOKENS,
  THOUGHT,
  TOTAL,
} from '../support/coding-task.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { UNEJECTING } from '../support/upstream.ts'

/** Vercel's AI SDK as a coding agent: every client format against every upstream format, in one piece and streamed. */

const UPSTREAMS = {
  'chat-completions': { provider: 'openai', path: '/v1' },
  messages: { provider: 'anthropic', path: '/v1' },
  responses: { provider: 'openai', path: '/v1' },
  'generate-content': { provider: 'google', path: '/v1beta' },
} as const

type Format = keyof typeof UPSTREAMS

const FORMATS = Object.keys(UPSTREAMS) as Format[]
const STEPS_MAX = 8

const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' })
let gateway: Gateway

function config(url: string): string {
  const channels = Object.entries(UPSTREAMS).map(
    ([format, { provider, path }]) =>
      `  - { id: ${format}, provider: ${provider}, base_url: "${url}${path}", api_key: sk-upstream, formats: [${format}] }`,
  )
  const models = FORMATS.map(
    format => `  - id: via-${format}
    scene: chat
    context_length: 128000
    max_output_tokens: 4096
    price: { input: "1", output: "2", per: 1M }
    offers: [{ channel: ${format}, upstream_model: upstream-${format} }]`,
  )
  return `${UNEJECTING}\nchannels:\n${channels.join('\n')}\nmodels:\n${models.join('\n')}\n`
}

interface Endpoint {
  readonly baseURL: string
  readonly apiKey: string
  readonly fetch: typeof fetch
}

interface Client {
  readonly path: string
  model(endpoint: Endpoint, id: string): LanguageModel
  /** What it reads of a model's thoughts: OpenAI's chat completions never tell them, so its SDK does not look. */
  readonly thought: string | undefined
}

/** The AI SDK's models, each as it speaks by default. */
const CLIENTS: Readonly<Record<Format, Client>> = {
  'chat-completions': { path: '/v1', model: (to, id) => createOpenAI(to).chat(id), thought: undefined },
  messages: { path: '/v1', model: (to, id) => createAnthropic(to)(id), thought: THOUGHT },
  responses: { path: '/v1', model: (to, id) => createOpenAI(to)(id), thought: THOUGHT },
  'generate-content': { path: '/v1beta', model: (to, id) => createGoogle(to)(id), thought: THOUGHT },
}

function modelFor(client: Format, upstream: Format, through = fetch): LanguageModel {
  const { path, model } = CLIENTS[client]
  return model({ baseURL: gateway.baseUrl + path, apiKey: gateway.apiKey, fetch: through }, `via-${upstream}`)
}

interface Agent {
  readonly client: Format
  readonly upstream: Format
  readonly prompt: string
  readonly folder: CodingFolder
  /** The default of OpenAI's responses is `true`; the SDK then names earlier items instead of repeating them. */
  readonly store?: boolean
}

/** What both ways of running an agent tell of the run. */
interface Run {
  readonly text: string
  readonly usage: LanguageModelUsage
  readonly steps: readonly StepResult<ToolSet>[]
}

function optionsOf({ client, upstream, prompt, folder, store = false }: Agent) {
  return {
    model: modelFor(client, upstream),
    instructions: 'You are a careful clerk.',
    prompt,
    tools: folder.tools(),
    stopWhen: isStepCount(STEPS_MAX),
    providerOptions: { openai: { store } },
  }
}

const WAYS: Readonly<Record<string, (agent: Agent) => Promise<Run>>> = {
  whole: agent => generateText(optionsOf(agent)),
  streamed: async agent => {
    const run = streamText({
      ...optionsOf(agent),
      onError: ({ error }) => {
        throw error
      },
    })
    return { text: await run.text, usage: await run.usage, steps: await run.steps }
  },
}

/** Tokens of every request by the gateway's id of it, as the SDK was told. */
const told = new Map<string, { input: number | undefined; output: number | undefined }>()

const GREETING = 'Hello!'

/** The first time that `client` asks, the model is busy. */
function busyOnce(client: Format, upstream: Format): Fixture[] {
  const match = { userMessage: `${client} says hello`, model: `upstream-${upstream}` }
  const error = { message: 'Too many requests', type: 'rate_limit_error' }
  return [
    { match: { ...match, sequenceIndex: 0 }, response: { error, status: 429, retryAfter: 1 } },
    { match, response: { content: GREETING } },
  ]
}

const PAIRS = FORMATS.flatMap(client => FORMATS.map(upstream => ({ client, upstream })))

before(async () => {
  // The SDK would say on the console what it leaves out of a request.
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })
  mock.addFixtures([...FIXTURES, ...PAIRS.flatMap(({ client, upstream }) => busyOnce(client, upstream))])
  await mock.start()
  gateway = await Gateway.start({ config: config(mock.url) })
})

after(async () => {
  await gateway?.stop()
  await mock.stop()
})

for (const client of FORMATS) {
  describe(`an agent that speaks ${client}`, () => {
    for (const upstream of FORMATS) {
      for (const [way, run] of Object.entries(WAYS)) {
        it(`does its job in four steps with a model that speaks ${upstream}, ${way}`, async () => {
          await using folder = await CodingFolder.create()
          const { text, usage, steps } = await run({ client, upstream, prompt: PROMPT, folder })
          assert.equal(text, ANSWER)
          assert.equal(await folder.read('total.txt'), TOTAL)
          assert.ok(remembers(lastAsked(), OPENING))
          assert.deepEqual(
            steps.map(({ toolCalls }) => toolCalls.map(({ toolName }) => toolName)),
            [['list_files'], ['read_file', 'read_file'], ['write_file'], []],
          )
          assert.deepEqual(
            steps.map(({ finishReason }) => finishReason),
            ['tool-calls', 'tool-calls', 'tool-calls', 'stop'],
          )
          assert.deepEqual(
            steps.map(step => ({ input: step.usage.inputTokens, output: step.usage.outputTokens })),
            STEP_TOKENS,
          )
          assert.equal(usage.inputTokens, sumOf('input'))
          assert.equal(usage.outputTokens, sumOf('output'))
          assert.equal(steps[0]?.reasoningText, CLIENTS[client].thought)
          for (const step of steps) {
            const id = step.response.headers?.['x-request-id'] ?? ''
            told.set(id, { input: step.usage.inputTokens, output: step.usage.outputTokens })
          }
        })
      }
    }
  })
}

/** What the model was asked last. */
function lastAsked(): ChatCompletionRequest {
  return mock.getLastRequest()?.body as ChatCompletionRequest
}

function sumOf(kind: 'input' | 'output'): number {
  return STEP_TOKENS.reduce((sum, tokens) => sum + tokens[kind], 0)
}

describe('what agents cost', () => {
  it('is in the report as the SDK was told, request by request and in sum', async () => {
    const requests = PAIRS.length * Object.keys(WAYS).length * STEP_TOKENS.length
    assert.equal(told.size, requests)
    const reported = await eventually('all requests in the report', async () => {
      const { summary } = await gateway.usage('?limit=1')
      return summary.total_requests === requests ? summary : undefined
    })
    const pages = await Promise.all([1, 2].map(page => gateway.usage(`?limit=100&page=${page}`)))
    const items = pages.flatMap(page => page.items)
    const byId = items.map(
      item => [String(item.request_id), { input: item.prompt_tokens, output: item.completion_tokens }] as const,
    )
    assert.deepEqual(new Map(byId.toSorted()), new Map([...told].toSorted()))
    assert.equal(reported.total_prompt_tokens, (requests / STEP_TOKENS.length) * sumOf('input'))
    assert.equal(reported.total_completion_tokens, (requests / STEP_TOKENS.length) * sumOf('output'))
  })
})

describe('what goes wrong in an agent’s work', () => {
  for (const { client, upstream } of PAIRS) {
    it(`is told to the model where a tool fails, ${client} to ${upstream}`, async () => {
      await using folder = await CodingFolder.create()
      const { text, steps } = await generateText(optionsOf({ client, upstream, prompt: MISSING_FILE_PROMPT, folder }))
      assert.equal(text, SORRY)
      assert.equal(steps.length, 2)
      assert.equal(steps[0]?.content.at(-1)?.type, 'tool-error')
    })
  }

  it('is asked for again after the time that a busy provider named, by every client with every upstream', async () => {
    const asked = PAIRS.map(async ({ client, upstream }) => {
      const answers: (readonly [isAnswer: boolean, retryAfter: string | null])[] = []
      const watched: typeof fetch = async (input, init) => {
        const response = await fetch(input, init)
        answers.push([response.ok, response.headers.get('retry-after')])
        return response
      }
      const model = modelFor(client, upstream, watched)
      const { text } = await generateText({ model, prompt: `${client} says hello`, maxRetries: 1 })
      return { client, upstream, text, answers }
    })
    const answers = [
      [false, '1'],
      [true, null],
    ]
    assert.deepEqual(
      await Promise.all(asked),
      PAIRS.map(pair => ({ ...pair, text: GREETING, answers })),
    )
  })
})

describe('an agent that names earlier items instead of repeating them', () => {
  for (const upstream of FORMATS) {
    it(`does its job with a model that speaks ${upstream}`, async () => {
      await using folder = await CodingFolder.create()
      const agent: Agent = { client: 'responses', upstream, prompt: PROMPT, folder, store: true }
      const { text } = await generateText(optionsOf(agent))
      assert.equal(text, ANSWER)
      assert.equal(await folder.read('total.txt'), TOTAL)
      assert.ok(remembers(lastAsked(), OPENING))
    })
  }
})
