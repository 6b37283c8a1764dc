import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Call, Part } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import { collectEvents } from '../../test/support/collect-events.ts'
import { target } from '../../test/support/target.ts'
import { chatWork } from './chat.ts'
import type { FormatName, WireFormat } from './format.ts'
import { CHAT_FORMATS } from './formats.ts'
import { decodeFrame, encodeFrame } from './sse/frame.ts'
import { FrameSplitter } from './sse/split.ts'

/** What `adaptations/seals.test.ts` shows of neutral parts, with the bytes of all four formats on both sides. */

const FORMATS = ['chat-completions', 'messages', 'responses', 'generate-content'] as const
const CONTEXT = { publicModel: 'm', wantsStreamUsage: true }

type Json = Record<string, unknown>

function formatOf(name: FormatName): WireFormat {
  return CHAT_FORMATS.get(name) as WireFormat
}

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).filter(each => each.trim() === each)
const seal = fc.base64String({ minLength: 4, maxLength: 12 })

const THOUGHTS: Readonly<Record<FormatName, fc.Arbitrary<Part>>> = {
  'chat-completions': fc.oneof(
    fc.tuple(text, seal).map(([text, signature]): Part => ({ type: 'reasoning', text, signature })),
    seal.map(
      (encrypted): Part => ({
        type: 'reasoning',
        text: '',
        encrypted,
        extensions: { 'chat-completions': { id: 'rs_1', format: 'vendor' } },
      }),
    ),
  ),
  messages: fc.oneof(
    fc.tuple(fc.string(), seal).map(([text, signature]): Part => ({ type: 'reasoning', text, signature })),
    seal.map((encrypted): Part => ({ type: 'reasoning', text: '', encrypted })),
  ),
  responses: fc.tuple(fc.string(), seal).map(([text, encrypted]): Part => ({ type: 'reasoning', text, encrypted })),
  'generate-content': fc.tuple(text, seal).map(([text, signature]): Part => ({ type: 'reasoning', text, signature })),
}

/** Vendors that seal calls seal the first of a step. */
const SEALS_CALLS: ReadonlySet<FormatName> = new Set(['chat-completions', 'generate-content'])

function turnOf(upstream: FormatName): fc.Arbitrary<Part[]> {
  const calls = fc
    .tuple(fc.integer({ min: 1, max: 3 }), fc.option(seal, { nil: undefined }))
    .map(([count, signature]): Part[] =>
      Array.from({ length: count }, (_, n) => ({
        type: 'tool-call',
        kind: 'function',
        id: `call_${n}`,
        name: `f${n}`,
        arguments: `{"n":${n}}`,
        ...(n === 0 && SEALS_CALLS.has(upstream) && signature !== undefined && { signature }),
      })),
    )
  const signature = upstream === 'generate-content' ? fc.option(seal, { nil: undefined }) : fc.constant(undefined)
  const words = fc.array(
    fc
      .tuple(text, signature)
      .map(([text, signature]): Part => ({ type: 'text', text, ...(signature && { signature }) })),
    { maxLength: 1 },
  )
  const thoughts = fc.array(THOUGHTS[upstream], { maxLength: 2 })
  // Chat-completions says what was thought before all else.
  const later = upstream === 'chat-completions' ? fc.constant([]) : thoughts
  return fc.tuple(thoughts, words, later, calls).map(parts => parts.flat())
}

/** The upstream's answer in its own bytes. */
function answerOf(upstream: FormatName, parts: readonly Part[]): Buffer {
  const finish = { reason: 'tool-calls', raw: undefined } as const
  const choices = [{ index: 0, parts, finish }]
  const result = { id: 'a', model: 'm', createdAt: 1, choices, usage: undefined, extensions: {} }
  return Buffer.from(JSON.stringify(formatOf(upstream).encodeResponse(result, CONTEXT)))
}

function streamOf(upstream: FormatName, parts: readonly Part[]): Buffer {
  if (upstream === 'chat-completions') return sealedChunks(parts)
  const encoder = formatOf(upstream).encodeStream(CONTEXT)
  return Buffer.concat(eventsOf(parts).flatMap(event => encoder.push(event).map(encodeFrame)))
}

function eventsOf(parts: readonly Part[]): CallEvent[] {
  const inside = parts.flatMap((part, index): CallEvent[] => {
    const at = { choice: 0, part: index }
    if (part.type === 'tool-call') {
      const { type: _, kind: toolKind, arguments: text, ...call } = part
      const start = { type: 'part-start', ...at, kind: 'tool-call', toolKind, ...call } as const
      return [start, { type: 'part-delta', ...at, text }, { type: 'part-end', ...at }]
    }
    if (part.type !== 'text' && part.type !== 'reasoning') return []
    const { type: kind, text, ...seals } = part
    const deltas = [...text].map((piece): CallEvent => ({ type: 'part-delta', ...at, text: piece }))
    return [{ type: 'part-start', ...at, kind }, ...deltas, { type: 'part-end', ...at, ...seals }]
  })
  return [
    { type: 'response-start', id: 'a', model: 'm', createdAt: 1 },
    ...inside,
    { type: 'choice-end', choice: 0, finish: { reason: 'tool-calls', raw: undefined } },
    { type: 'response-end' },
  ]
}

/** As OpenRouter streams what was thought: each piece twice, its seal last. */
function sealedChunks(parts: readonly Part[]): Buffer {
  const chunk = (delta: Json, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: 'a', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  let calls = 0
  const deltas = parts.flatMap((part, index): Json[] => {
    if (part.type === 'text') return [{ content: part.text }]
    if (part.type === 'reasoning') {
      const fields = { index, ...part.extensions?.['chat-completions'] }
      const detail = (entry: Json) => ({ reasoning_details: [{ ...entry, ...fields }] })
      if (part.encrypted !== undefined) return [detail({ type: 'reasoning.encrypted', data: part.encrypted })]
      const type = 'reasoning.text'
      const pieces = [...part.text].map(text => ({ reasoning: text, ...detail({ type, text }) }))
      return [...pieces, detail({ type, text: '', signature: part.signature })]
    }
    if (part.type !== 'tool-call') return []
    const { id, name, arguments: written, signature } = part
    const extra = signature && { extra_content: { google: { thought_signature: signature } } }
    return [
      { tool_calls: [{ index: calls++, id, type: 'function', function: { name, arguments: written }, ...extra }] },
    ]
  })
  return Buffer.from(`${deltas.map(delta => chunk(delta)).join('')}${chunk({}, 'tool_calls')}data: [DONE]\n\n`)
}

/** A client's answer as its next request has it, from a whole one or from the events of a stream. */
const CLIENTS: Readonly<Record<FormatName, { turn(answer: Json): unknown; collect(events: readonly Json[]): Json }>> = {
  'chat-completions': {
    turn: answer => (answer.choices as { message: Json }[])[0]?.message,
    collect: chunks => {
      const message: Json = { role: 'assistant', content: '' }
      const calls: Json[] = []
      for (const chunk of chunks) {
        const { content, tool_calls = [], ...rest } = (chunk.choices as { delta: Json }[])[0]?.delta ?? {}
        message.content += String(content ?? '')
        for (const { index, ...call } of tool_calls as Json[]) {
          const known = calls[index as number] as { function: Json } | undefined
          const written = String(known?.function.arguments ?? '') + String((call.function as Json).arguments)
          calls[index as number] = {
            ...known,
            ...call,
            function: { ...known?.function, ...(call.function as Json), arguments: written },
          }
        }
        Object.assign(message, rest)
      }
      return { choices: [{ message: { ...message, tool_calls: calls } }] }
    },
  },
  messages: {
    turn: ({ content }) => ({ role: 'assistant', content }),
    collect: events => {
      const decoder = formatOf('messages').decodeStream()
      const all = events.flatMap(event => decoder.push({ event: undefined, data: JSON.stringify(event) }))
      const result = { ...collectEvents(all), extensions: {} }
      return formatOf('messages').encodeResponse(result, CONTEXT)
    },
  },
  responses: {
    turn: ({ output }) => output,
    collect: events => events.findLast(({ type }) => type === 'response.completed')?.response as Json,
  },
  'generate-content': {
    turn: answer => (answer.candidates as { content: Json }[])[0]?.content,
    collect: chunks => {
      const contents = chunks.flatMap(chunk => (chunk.candidates ?? []) as { content?: { parts: Json[] } }[])
      const parts = contents.flatMap(({ content }) => content?.parts ?? [])
      return { candidates: [{ content: { role: 'model', parts } }] }
    },
  },
}

function requestOf(client: FormatName, turn: unknown): Json {
  const parts = [{ text: 'Go' }]
  switch (client) {
    case 'messages':
      return { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Go' }, ...(turn ? [turn] : [])] }
    case 'responses':
      return { model: 'm', input: [{ role: 'user', content: 'Go' }, ...((turn ?? []) as unknown[])] }
    case 'generate-content':
      return { model: 'm', contents: [{ role: 'user', parts }, ...(turn ? [turn] : [])] }
    default:
      return { model: 'm', messages: [{ role: 'user', content: 'Go' }, ...(turn ? [turn] : [])] }
  }
}

function exchange(client: FormatName, upstream: FormatName, turn?: unknown) {
  const bytes = Buffer.from(JSON.stringify(requestOf(client, turn)))
  return chatWork(formatOf(client), bytes).encode(target({ format: upstream }))
}

/** What the upstream is told of the turn that the client has sent back, as the upstream reads it. */
function told(client: FormatName, upstream: FormatName, turn: unknown): readonly Part[] {
  const body = JSON.parse(Buffer.from(exchange(client, upstream, turn).body).toString())
  return assistantParts(upstream, body)
}

function assistantParts(upstream: FormatName, body: Json): readonly Part[] {
  const call: Call = formatOf(upstream).decodeRequest({ model: 'm', ...body })
  return call.messages.find(({ role }) => role === 'assistant')?.parts ?? []
}

function sealedParts(parts: readonly Part[]): readonly Part[] {
  return parts.filter(part => ('signature' in part && part.signature) || ('encrypted' in part && part.encrypted))
}

function whole(client: FormatName, upstream: FormatName, parts: readonly Part[]): unknown {
  const { body } = exchange(client, upstream).decodeAnswer(answerOf(upstream, parts))
  return CLIENTS[client].turn(JSON.parse(Buffer.from(body).toString()))
}

function streamed(client: FormatName, upstream: FormatName, parts: readonly Part[]): unknown {
  const stream = exchange(client, upstream).openStream()
  const pushed = stream.push(streamOf(upstream, parts)) ?? Buffer.alloc(0)
  const closed = stream.close() ?? Buffer.alloc(0)
  assert.equal(stream.fault, undefined)
  const bytes = Buffer.concat([pushed, closed, stream.finish()])
  const frames = new FrameSplitter({ frameBytesMax: 1e9 }).push(bytes).map(decodeFrame)
  const events = frames.flatMap(({ data }) => (data && data !== '[DONE]' ? [JSON.parse(data) as Json] : []))
  return CLIENTS[client].turn(CLIENTS[client].collect(events))
}

describe('an answer with sealed thoughts', () => {
  for (const upstream of FORMATS) {
    for (const client of FORMATS.filter(each => each !== upstream)) {
      for (const [way, given] of [
        ['whole', whole],
        ['streamed', streamed],
      ] as const) {
        it(`of ${upstream}, ${way} to a client of ${client}, goes back with its seals to ${upstream} alone`, () => {
          fc.assert(
            fc.property(turnOf(upstream), parts => {
              const turn = given(client, upstream, parts)
              assert.deepEqual(sealedParts(told(client, upstream, turn)), sealedParts(parts))
              for (const other of FORMATS.filter(each => each !== upstream)) {
                assert.deepEqual(sealedParts(told(client, other, turn)), [])
              }
            }),
            { numRuns: 40 },
          )
        })
      }
    }
  }
})
