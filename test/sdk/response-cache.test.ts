import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { sql } from 'kysely'
import OpenAI from 'openai'
import type { Database } from '#storage/database.ts'
import { eventually } from '../support/eventually.ts'
import { Gateway } from '../support/gateway.ts'
import { startNumberedUpstream } from '../support/numbered-upstream.ts'
import { configFor, type ScriptedUpstream } from '../support/upstream.ts'

/** Answers that are given again, as the official SDKs of three vendors read them. */

const CACHED = { 'X-Gateway-Cache': 'use', 'X-Gateway-Cache-TTL': '60' }

let upstream: ScriptedUpstream
let gateway: Gateway
let database: Database

before(async () => {
  upstream = await startNumberedUpstream()
  gateway = await Gateway.start({ config: configFor(upstream.url) })
  assert.ok(gateway.database)
  database = gateway.database.open()
})

after(async () => {
  await gateway?.stop()
  await upstream.stop()
})

/** Asks twice, the second time once the first answer is kept, and hands over what an SDK made of both. */
async function twice<T>(ask: () => Promise<T>): Promise<[T, T]> {
  const before = await keptAnswers()
  const asked = upstream.seen.length
  const first = await ask()
  await eventually('the answer to be kept', async () => ((await keptAnswers()) > before ? true : undefined))
  const second = await ask()
  assert.equal(upstream.seen.length, asked + 1, 'the upstream is asked once')
  return [first, second]
}

async function keptAnswers(): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from cached_answers`.execute(database)
  return rows[0]?.count ?? 0
}

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const events: T[] = []
  for await (const event of stream) events.push(event)
  return events
}

describe('cached answers through the OpenAI SDK', () => {
  const client = () =>
    new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: gateway.apiKey, maxRetries: 0, defaultHeaders: CACHED })
  const request = { model: 'test-chat', messages: [{ role: 'user' as const, content: 'Hi' }] }

  it('are the same completion', async () => {
    const states: (string | null)[] = []
    const [first, second] = await twice(async () => {
      const { data, response } = await client().chat.completions.create(request).withResponse()
      states.push(response.headers.get('x-gateway-cache'))
      return data
    })
    assert.deepEqual(states, ['miss', 'hit'])
    assert.deepEqual(second, first)
    assert.match(second.choices[0]?.message.content ?? '', /^Answer \d+$/)
  })

  it('are the same chunks of a stream', async () => {
    const [first, second] = await twice(async () =>
      collect(await client().chat.completions.create({ ...request, stream: true })),
    )
    assert.ok(first.length > 2)
    assert.deepEqual(second, first)
  })

  it('are the same response, whole and streamed, unless it is stored', async () => {
    const [first, second] = await twice(() =>
      client().responses.create({ model: 'test-chat', input: 'Hi', store: false }),
    )
    assert.deepEqual(second, first)
    const [events, again] = await twice(async () =>
      collect(await client().responses.create({ model: 'test-chat', input: 'Hi', store: false, stream: true })),
    )
    assert.equal(events.at(-1)?.type, 'response.completed')
    assert.deepEqual(again, events)
    const stored = () => client().responses.create({ model: 'test-chat', input: 'Hi' })
    assert.notEqual((await stored()).id, (await stored()).id)
  })

  it('are the same vectors', async () => {
    const [first, second] = await twice(() => client().embeddings.create({ model: 'test-embedding', input: 'Hi' }))
    assert.deepEqual(second, first)
  })
})

describe('cached answers through the Anthropic SDK', () => {
  const client = () =>
    new Anthropic({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0, defaultHeaders: CACHED })
  const request = { model: 'test-chat', max_tokens: 50, messages: [{ role: 'user' as const, content: 'Hi' }] }

  it('are the same message, and the same events of one', async () => {
    const [first, second] = await twice(() => client().messages.create(request))
    assert.deepEqual(second, first)
    const [events, again] = await twice(async () =>
      collect(await client().messages.create({ ...request, stream: true })),
    )
    assert.equal(events.at(-1)?.type, 'message_stop')
    assert.deepEqual(again, events)
  })
})

describe('cached answers through the Google SDK', () => {
  const client = () =>
    new GoogleGenAI({ apiKey: gateway.apiKey, httpOptions: { baseUrl: gateway.baseUrl, headers: CACHED } })
  const request = { model: 'test-chat', contents: 'Hi' }

  it('are the same content, whole and in pieces', async () => {
    const [first, second] = await twice(() => client().models.generateContent(request))
    assert.equal(second.text, first.text)
    assert.deepEqual(second.usageMetadata, first.usageMetadata)
    assert.equal(second.responseId, first.responseId)
    const [pieces, again] = await twice(async () => collect(await client().models.generateContentStream(request)))
    assert.ok(pieces.length > 1)
    assert.deepEqual(
      again.map(({ text }) => text),
      pieces.map(({ text }) => text),
    )
  })
})
