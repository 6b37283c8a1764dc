import assert from 'node:assert/strict'
import type { Case } from '../matrix/case.ts'
import { CASES } from '../matrix/cases.ts'
import type { Way } from '../matrix/clients/client.ts'
import { CLIENTS } from '../matrix/clients/index.ts'
import type { Answer, Format, Usage } from '../matrix/conversation.ts'
import { Exchange } from '../matrix/exchange.ts'
import { type Meaning, raisedBy, WORDS } from '../matrix/failures.ts'
import { question } from '../matrix/rig.ts'
import { VECTORS } from './host.ts'
import { LADEN } from './laden.ts'
import { modelOf, type Stand } from './stand.ts'
import { type ChatTarget, type EmbeddingsTarget, nameOf, type Target } from './target.ts'

/** What every provider must do, whatever its format: cases of the matrix, asked of it through its own adapter. */
const ANSWERED = [
  'words',
  'tool call',
  'parallel calls and their results',
  'image in base64',
  'answer by a JSON schema',
  'stopped by a filter',
  'usage with a cache',
]

/** What an error of the provider means to the client. */
const FAILED: Readonly<Record<string, Meaning>> = {
  'bad-request': 'bad request',
  'too-long': 'too long',
  'bad-key': 'upstream failed',
  'status-403': 'upstream failed',
  'status-404': 'upstream failed',
  'rate-limit': 'nobody can',
  'server-error': 'upstream failed',
  'status-503': 'nobody can',
}

/** With which the provider says when to come back. */
const PATIENT: ReadonlySet<string> = new Set(['rate-limit', 'status-503'])

const CUT = 'cached_cut'
const LIVE = ['live-words', 'live-tool-call']
const cases = CASES.filter(({ name }) => ANSWERED.includes(name))

export const FIXTURES: readonly string[] = [
  ...cases.flatMap(({ steps }) => steps.map(({ fixture }) => fixture)),
  ...Object.keys(FAILED),
  CUT,
  ...LIVE,
]

export interface Check {
  readonly name: string
  run(stand: Stand): Promise<void>
}

type ChatProvider = Target & Required<Pick<Target, 'chat'>>

/** All that `target` must pass. */
export function checksOf(target: Target): Check[] {
  const { chat, embeddings } = target
  if (!chat) return embeddings ? [embeds(target, embeddings)] : []
  const asked: ChatProvider = { ...target, chat }
  const isClaimed = ({ name }: { name: string }) => chat.lacks?.[name] === undefined
  const clients = clientsOf(chat.format)
  return [
    ...clients.flatMap(client => [
      ...cases.filter(isClaimed).flatMap(each => WAYS.map(way => answers(asked, each, client, way))),
      ...LIVE.flatMap(fixture => WAYS.map(way => answersLive(asked, fixture, client, way))).filter(isClaimed),
      ...Object.entries(FAILED).map(([fixture, meaning]) => fails(target, fixture, meaning, client)),
      cuts(target, client),
    ]),
    ...(chat.finds === undefined ? [] : [understands(target)]),
    ...(embeddings ? [embeds(target, embeddings)] : []),
  ]
}

const WAYS: readonly Way[] = ['whole', 'stream']

/** The provider's own format, which passes through, and another one, which is translated. */
function clientsOf(format: Format): Format[] {
  return [format, format === 'messages' ? 'chat-completions' : 'messages']
}

function answers(target: ChatProvider, { name: about, steps }: Case, client: Format, way: Way): Check {
  const name = `${nameOf(target)}: ${about}, ${client} client, ${way}`
  return {
    name,
    run: async stand => {
      const answered: Answer[] = []
      for (const [index, step] of steps.entries()) {
        const exchange = new Exchange()
        const conversation = step.say(name, answered)
        const model = modelOf(target, step.fixture)
        const answer = await stand.ask(client, way, { model, conversation, exchange })
        answered.push(answer)
        const { text = '', calls = [], stop } = step.answer
        const heard = answer.calls.map(({ name, arguments: given }) => ({ name, arguments: given }))
        assert.deepEqual(
          { text: answer.text, calls: heard, stop: answer.stop, model: answer.model },
          { text, calls, stop: CLIENTS[client].stopWords[stop], model },
        )
        const asked = stand.host.seen(name)[index]?.asked
        assert.deepEqual(
          { ...asked, turns: undefined, schema: undefined },
          {
            model: step.fixture,
            isStream: way === 'stream',
            system: asked?.system,
            tools: conversation.tools,
            toolChoice: conversation.toolChoice,
            stop: undefined,
            effort: undefined,
            maxTokens: conversation.maxTokens,
            turns: undefined,
            schema: undefined,
          },
        )
        assert.ok(asked?.system?.startsWith(conversation.system))
        if (!target.chat.refuses?.outputs) assert.deepEqual(asked?.schema, conversation.schema?.schema)
        assertTurns(conversation.turns, asked?.turns)
        await assertBill(stand, target.chat, exchange, step.answer.usage)
      }
    },
  }
}

/** Pictures and results of tools have arrived, each where it belongs. */
function assertTurns(said: readonly unknown[], asked: unknown): void {
  const turns = JSON.stringify(asked)
  for (const turn of said as readonly { images?: unknown; results?: readonly string[] }[]) {
    if (turn.images) assert.ok(turns.includes(JSON.stringify(turn.images)), 'the provider sees the picture')
    for (const result of turn.results ?? []) assert.ok(turns.includes(JSON.stringify(result)), 'and the results')
  }
  assert.doesNotMatch(turns, /"to":null|"results":\[\{"text"/, 'every result belongs to a call')
}

/** 40 tokens in and 12 out, unless the case says otherwise; whatever the client can read of it, it is in the books. */
async function assertBill(stand: Stand, { format }: ChatTarget, exchange: Exchange, usage: Usage = {}): Promise<void> {
  const { input = 40, output = 12 } = usage
  const { counts } = CLIENTS[format]
  const [read = 0, written = 0, writtenForAnHour = 0] = (['cacheRead', 'cacheWrite', 'cacheWrite1h'] as const).map(
    count => counts[count] && usage[count],
  )
  const bill = await stand.billOf(exchange)
  assert.deepEqual(
    [bill.outcome, bill.is_estimated, bill.prompt_tokens, bill.completion_tokens],
    ['completed', false, input, output],
  )
  assert.deepEqual(
    [bill.cache_read_tokens ?? 0, bill.cache_write_tokens ?? 0, bill.cache_write_tokens_1h ?? 0],
    [read, written, writtenForAnHour],
  )
  const cents = [
    [input - read - written, 100],
    [read, 50],
    [written - writtenForAnHour, 125],
    [writtenForAnHour, 200],
    [output, 200],
  ].reduce((sum, [tokens = 0, perMillion = 0]) => sum + tokens * perMillion, 0)
  assert.equal(Number(bill.cost), cents / 1e8)
}

function answersLive(target: ChatProvider, fixture: string, client: Format, way: Way): Check {
  const name = `${nameOf(target)}: ${fixture} of aimock, ${client} client, ${way}`
  return {
    name,
    run: async stand => {
      const model = modelOf(target, fixture)
      const exchange = new Exchange()
      const answer = await stand.ask(client, way, { model, conversation: question(name), exchange })
      assert.equal(answer.text !== '', fixture === 'live-words')
      assert.equal(answer.calls.length, fixture === 'live-words' ? 0 : 1)
      await assertBill(stand, target.chat, exchange)
    },
  }
}

function fails(target: Target, fixture: string, meaning: Meaning, client: Format): Check {
  const name = `${nameOf(target)}: ${fixture}, ${client} client`
  return {
    name,
    run: async stand => {
      const exchange = new Exchange()
      const asking = stand.ask(client, 'whole', {
        model: modelOf(target, fixture),
        conversation: question(name),
        exchange,
      })
      const { message: _, ...raised } = await raisedBy(asking, client)
      assert.deepEqual(raised, WORDS[meaning][client])
      if (PATIENT.has(fixture)) assert.equal(exchange.headers.get('retry-after'), '7')
    },
  }
}

function cuts(target: Target, client: Format): Check {
  const name = `${nameOf(target)}: a stream that breaks off, ${client} client`
  return {
    name,
    run: async stand => {
      const exchange = new Exchange()
      const asked = { model: modelOf(target, CUT), conversation: question(name), exchange }
      await assert.rejects(stand.ask(client, 'stream', asked))
      assert.equal((await stand.billOf(exchange)).outcome, 'cut')
    },
  }
}

function understands(target: Target): Check {
  return {
    name: `${nameOf(target)}: a request with all that OpenAI's clients may say`,
    run: async stand => {
      const body = { ...LADEN, model: modelOf(target, 'words') }
      const response = await stand.gateway.post('/v1/chat/completions', body)
      assert.equal(response.status, 200, await response.text())
      const seen = stand.host.seen('laden').find(seen => seen.target === nameOf(target))
      const finds: Readonly<Record<string, unknown>> = target.chat?.finds
      const found = Object.fromEntries(Object.keys(finds).map(field => [field, seen?.body[field]]))
      assert.deepEqual(found, finds)
    },
  }
}

function embeds(target: Target, { finds }: EmbeddingsTarget): Check {
  return {
    name: `${nameOf(target)}: embeddings`,
    run: async stand => {
      const model = modelOf(target, 'embedding')
      const words = `embeddings of ${nameOf(target)}`
      const asked = { model, input: ['one', 'two'], dimensions: 2, encoding_format: 'base64', user: words }
      const response = await stand.gateway.post('/v1/embeddings', asked)
      assert.equal(response.status, 200, await response.clone().text())
      const {
        data,
        usage,
        model: named,
      } = (await response.json()) as {
        data: { embedding: string }[]
        usage: object
        model: string
      }
      const vectors = data.map(({ embedding }) => Buffer.from(embedding, 'base64'))
      assert.deepEqual(
        vectors.map(bytes => [bytes.readFloatLE(0), bytes.readFloatLE(4)]),
        VECTORS,
      )
      assert.deepEqual([named, usage], [model, { prompt_tokens: 7, total_tokens: 7 }])
      const seen = stand.host.seen('"embedding"').find(seen => seen.target === nameOf(target))
      const found = Object.fromEntries(Object.keys(finds).map(field => [field, seen?.body[field]]))
      assert.deepEqual(found, finds)
      const { cost, prompt_tokens } = await stand.billOf(response)
      assert.deepEqual([prompt_tokens, cost], [7, '0.000007'])
    },
  }
}
