import type { Case, ExpectedAnswer, Step } from './case.ts'
import type { AnswerSchema, Conversation, Image, Tool, ToolCall } from './conversation.ts'
import type { Asked } from './upstreams/asked.ts'
import { PLACEHOLDER_SEAL } from './upstreams/generate-content.ts'

const WORDS = 'Grüße aus dem Gateway: 12 < 13, "quoted", and a snowman ☃.'
const REPORT = 'Zürich: 21 °C for three days. Bern: 19 °C today.'
const THOUGHT = 'They ask about the weather, which I must look up.'
const DECLINE = 'I cannot help with that.'

const WEATHER: Tool = {
  name: 'get_weather',
  description: 'The weather in a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer' } },
    required: ['city', 'days'],
    additionalProperties: false,
  },
}
const ZURICH: ToolCall = { name: 'get_weather', arguments: { city: 'Zürich', days: 3 } }
const BERN: ToolCall = { name: 'get_weather', arguments: { city: 'Bern', days: 1 } }

/** What fixtures hold, by who sealed it. */
export const SEALS = {
  messages: ['c2VhbGVkIGJ5IG1lc3NhZ2Vz', 'cmVkYWN0ZWQgYnkgbWVzc2FnZXM='],
  responses: ['c2VhbGVkIGJ5IHJlc3BvbnNlcw=='],
  'generate-content': ['c2VhbGVkIGJ5IGdlbmVyYXRlLWNvbnRlbnQ='],
} as const

/** The smallest PNG: one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const CITY_AND_DAYS: AnswerSchema = {
  name: 'city_and_days',
  schema: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer' } },
    required: ['city', 'days'],
    additionalProperties: false,
  },
}

/** A single question, asked with `more` and answered from the fixture. */
function asks(fixture: string, answer: ExpectedAnswer, more: Partial<Conversation> = {}): Step {
  return {
    fixture,
    say: words => ({ system: 'Be brief.', turns: [{ by: 'user', text: words }], maxTokens: 500, ...more }),
    answer,
  }
}

/** The same question, its answer as the SDK gave it, and what the tools said. */
function reports(first: Step, results: readonly string[]): Step {
  return {
    fixture: 'report',
    say: (words, before) => {
      const conversation = first.say(words, before)
      const echoed = before.map(echo => ({ by: 'model', echo }) as const)
      return { ...conversation, turns: [...conversation.turns, ...echoed, { by: 'tools', results }] }
    },
    answer: { text: REPORT, stop: 'end' },
  }
}

function image(name: string, picture: Image): Case {
  return {
    name,
    about: 'A picture in the user’s turn.',
    steps: [
      {
        fixture: 'words',
        say: words => ({
          system: 'Be brief.',
          turns: [{ by: 'user', text: words, images: [picture] }],
          maxTokens: 500,
        }),
        answer: { text: WORDS, stop: 'end' },
      },
    ],
  }
}

const parallel = asks(
  'parallel-calls',
  { calls: [ZURICH, BERN], stop: 'calls' },
  { tools: [WEATHER], toolChoice: 'auto' },
)

const thinking = asks(
  'thinking',
  {
    thinking: THOUGHT,
    calls: [ZURICH],
    stop: 'calls',
    echo: {
      'chat-completions': { thoughts: [{ text: THOUGHT }], calls: [ZURICH] },
      messages: { thoughts: [{ text: THOUGHT, seal: SEALS.messages[0] }], calls: [ZURICH] },
      responses: { thoughts: [{ text: THOUGHT, seal: SEALS.responses[0] }], calls: [ZURICH] },
      'generate-content': {
        thoughts: [{ text: THOUGHT }],
        calls: [{ ...ZURICH, seal: SEALS['generate-content'][0] }],
      },
    },
  },
  { tools: [WEATHER], effort: 'medium' },
)

const redacted = asks(
  'redacted',
  {
    calls: [ZURICH],
    stop: 'calls',
    echo: { messages: { thoughts: [{ text: '', seal: SEALS.messages[1] }], calls: [ZURICH] } },
  },
  { tools: [WEATHER], effort: 'medium' },
)

/** The conversation goes on elsewhere: the second upstream gets what all can read, and no seal. */
function movesFrom(maker: keyof typeof SEALS): Case {
  const thought: Step = {
    ...asks('thinking', { thinking: THOUGHT, calls: [ZURICH], stop: 'calls' }, { tools: [WEATHER] }),
    by: maker,
  }
  const unsealed = { thoughts: [{ text: THOUGHT }], calls: [ZURICH] }
  const first: Step = {
    ...thought,
    answer: {
      ...thought.answer,
      echo: {
        'chat-completions': unsealed,
        messages: { calls: [ZURICH] },
        responses: { calls: [ZURICH] },
        'generate-content': { ...unsealed, calls: [{ ...ZURICH, seal: PLACEHOLDER_SEAL }] },
      },
    },
  }
  return {
    name: `thinking of ${maker} taken elsewhere`,
    about: `A model of a ${maker} upstream thinks and calls a tool; the conversation goes on with another vendor’s model.`,
    steps: [first, reports(first, ['21 °C'])],
    exceptions: [
      { upstreams: [maker], loss: { kind: 'absent', why: 'that is “thinking in a tool loop”' } },
      {
        isNative: true,
        loss: {
          kind: 'dropped',
          what: 'the seal',
          why: 'only the vendor that made a seal can open it, others refuse it',
        },
        warnings: [/thought|reasoning|signature|seal/],
      },
      {
        isNative: true,
        upstreams: ['messages', 'responses'],
        loss: { kind: 'dropped', what: 'the thought', why: 'both refuse thoughts that they have not sealed' },
      },
    ],
  }
}

/** The first call of the model's turns has the placeholder where a seal would be. */
function withPlaceholder(asked: Asked): Asked {
  const turns = asked.turns.map(turn => {
    const [first, ...others] = turn.calls ?? []
    return first ? { ...turn, calls: [{ ...first, seal: PLACEHOLDER_SEAL }, ...others] } : turn
  })
  return { ...asked, turns }
}

export const CASES: readonly Case[] = [
  {
    name: 'words',
    about: 'A system prompt, a conversation of three turns, a limit on tokens; an answer in words and what it used.',
    steps: [
      {
        fixture: 'words',
        say: words => ({
          system: 'Be brief.',
          turns: [
            { by: 'user', text: words },
            { by: 'model', text: 'What about?' },
            { by: 'user', text: 'Gateways, "quoted" & ☃' },
          ],
          maxTokens: 500,
        }),
        answer: { text: WORDS, stop: 'end' },
      },
    ],
  },
  {
    name: 'tool call',
    about: 'A tool with a schema for its arguments, and a call of it.',
    steps: [asks('tool-call', { calls: [ZURICH], stop: 'calls' }, { tools: [WEATHER] })],
  },
  {
    name: 'forced tool',
    about: 'The named tool and no other must be called.',
    steps: [
      asks('tool-call', { calls: [ZURICH], stop: 'calls' }, { tools: [WEATHER], toolChoice: { name: 'get_weather' } }),
    ],
  },
  {
    name: 'any tool',
    about: 'Some tool must be called.',
    steps: [asks('tool-call', { calls: [ZURICH], stop: 'calls' }, { tools: [WEATHER], toolChoice: 'required' })],
  },
  {
    name: 'no tool',
    about: 'Tools are there, but none may be called.',
    steps: [asks('report', { text: REPORT, stop: 'end' }, { tools: [WEATHER], toolChoice: 'none' })],
  },
  {
    name: 'parallel calls and their results',
    about: 'Two calls in one answer; both are sent back as the SDK gave them, with the result of each.',
    steps: [parallel, reports(parallel, ['21 °C, sunny', '19 °C, "rain"'])],
    exceptions: [
      {
        upstreams: ['generate-content'],
        loss: {
          kind: 'added',
          what: 'a placeholder for the seal of the first call',
          why: 'newer Gemini models refuse a history whose calls have none',
        },
        asked: withPlaceholder,
      },
    ],
  },
  {
    name: 'thinking in a tool loop',
    about:
      'An effort is asked for; the model thinks, seals its thought and calls a tool. Sent back as the SDK gave it, the ' +
      'thought reaches the upstream with its own seal, unchanged.',
    steps: [thinking, reports(thinking, ['21 °C'])],
    exceptions: [
      {
        clients: ['responses', 'generate-content'],
        upstreams: ['chat-completions'],
        loss: {
          kind: 'dropped',
          what: 'the wish to read the thoughts',
          why: 'chat-completions has no field for it; hosts that show thoughts do so unasked',
        },
        warnings: ['showing reasoning has no equivalent in chat-completions'],
      },
    ],
  },
  {
    name: 'redacted thinking in a tool loop',
    about: 'The same with a thought that nobody but its vendor can read.',
    steps: [redacted, reports(redacted, ['21 °C'])],
    exceptions: [
      {
        upstreams: ['chat-completions', 'responses', 'generate-content'],
        loss: { kind: 'absent', why: 'only messages has thoughts without words that are redacted' },
      },
    ],
  },
  movesFrom('messages'),
  movesFrom('responses'),
  movesFrom('generate-content'),
  image('image by URL', { kind: 'url', url: 'https://images.example/snowman.png' }),
  image('image in base64', { kind: 'base64', mediaType: 'image/png', data: PIXEL }),
  {
    name: 'answer by a JSON schema',
    about: 'The answer must be JSON of a given shape.',
    steps: [asks('json', { text: '{"city":"Zürich","days":3}', stop: 'end' }, { schema: CITY_AND_DAYS })],
  },
  {
    name: 'a prompt that the provider keeps',
    about: 'The conversation goes on from one that lies with the provider.',
    steps: [asks('words', { text: WORDS, stop: 'end' }, { keptPrompt: 'cachedContents/abc' })],
    exceptions: [
      {
        clients: ['chat-completions', 'messages', 'responses'],
        loss: { kind: 'absent', why: 'only generate-content can name one here' },
      },
      {
        upstreams: ['chat-completions', 'messages', 'responses'],
        loss: {
          kind: 'refused',
          what: '`cachedContent`',
          why: 'it lies with Google; without it another model would answer something else',
        },
      },
    ],
  },
  {
    name: 'nothing stored',
    about: 'The provider is told to keep nothing of the call.',
    steps: [asks('words', { text: WORDS, stop: 'end' }, { isUnstored: true })],
    exceptions: [
      {
        clients: ['messages', 'generate-content'],
        loss: { kind: 'absent', why: 'only chat-completions and responses have a field for it' },
      },
    ],
  },
  {
    name: 'stopped by length',
    about: 'The limit on tokens was reached.',
    steps: [asks('length', { text: 'Once upon a', stop: 'length' })],
  },
  {
    name: 'stopped by a sequence',
    about: 'A stop sequence is given, and the model came upon it.',
    steps: [asks('stopped', { text: 'one, two, three, ', stop: 'sequence' }, { stop: ['four', 'vier'] })],
    exceptions: [
      {
        clients: ['responses'],
        loss: { kind: 'absent', why: 'responses has no stop sequences' },
      },
      {
        upstreams: ['responses'],
        loss: { kind: 'dropped', what: 'the stop sequences', why: 'responses has none' },
        warnings: ['stop has no equivalent in responses'],
        asked: asked => ({ ...asked, stop: undefined }),
        answer: answer => ({ ...answer, stop: 'end' }),
      },
      {
        clients: ['messages'],
        upstreams: ['chat-completions', 'generate-content'],
        loss: {
          kind: 'unheard',
          what: 'that a sequence was the reason',
          why: 'chat-completions and generate-content do not tell it from a natural end',
        },
        answer: answer => ({ ...answer, stop: 'end' }),
      },
    ],
  },
  {
    name: 'stopped by a full context',
    about: 'The context window was full.',
    steps: [asks('context', { text: 'Once upon a', stop: 'context' })],
    exceptions: [
      {
        upstreams: ['chat-completions', 'responses', 'generate-content'],
        loss: { kind: 'absent', why: 'only messages tells a full context from a reached limit' },
      },
    ],
  },
  {
    name: 'stopped by a filter',
    about: 'The provider’s filter stopped the answer.',
    steps: [asks('refusal', { text: DECLINE, stop: 'refusal' })],
  },
  {
    name: 'declined in words',
    about: 'The model declined, in words that are set apart from an answer’s.',
    steps: [asks('declined', { refusal: DECLINE, stop: 'end' })],
    exceptions: [
      {
        upstreams: ['messages', 'generate-content'],
        loss: { kind: 'absent', why: 'only chat-completions and responses set a refusal’s words apart' },
      },
      {
        clients: ['messages', 'generate-content'],
        loss: {
          kind: 'unheard',
          what: 'that the words are a refusal',
          why: 'messages and generate-content have no such place: the words stand where an answer’s do',
        },
        answer: ({ refusal = '', ...answer }) => ({ ...answer, text: refusal }),
      },
    ],
  },
  {
    name: 'blocked prompt',
    about: 'The provider refused the prompt: there is no answer at all.',
    steps: [asks('blocked', { stop: 'refusal', usage: { input: 40, output: 0 } })],
    exceptions: [
      {
        upstreams: ['chat-completions', 'messages', 'responses'],
        loss: { kind: 'absent', why: 'only generate-content answers with a reason and no candidate' },
      },
    ],
  },
  {
    name: 'usage with a cache',
    about: 'Tokens read from a cache, written to it for five minutes and for an hour, and spent on thinking.',
    steps: [
      asks('cached', {
        text: REPORT,
        stop: 'end',
        usage: {
          input: 1000,
          cacheRead: 600,
          cacheWrite: 300,
          cacheWrite5m: 100,
          cacheWrite1h: 200,
          output: 50,
          reasoning: 20,
        },
      }),
    ],
  },
]
