import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Call, Message, Part } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import type { Result } from '#core/result.ts'
import { collectEvents } from '../../../test/support/collect-events.ts'
import { cutText } from '../../../test/support/cut.ts'
import type { Sides } from '../adaptation.ts'
import type { FormatName } from '../format.ts'
import { ENVELOPE_START } from './seal-envelope.ts'
import { adaptSeals } from './seals.ts'

type Pair = Pick<Sides, 'client' | 'upstream'>

function seals(call: Call, pair: Pair): ReturnType<typeof adaptSeals> {
  return adaptSeals(call, { ...pair, quirks: {} })
}

const FORMATS = ['chat-completions', 'messages', 'responses', 'generate-content'] as const

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
/** Anything that a vendor may make up, colons and signs of both alphabets of base64 included. */
const seal = fc.string({ unit: fc.constantFrom(':', '?', '+', '/', '-', '_', '=', 'a', 'Z', '9', 'é'), minLength: 1 })

const said: fc.Arbitrary<Part> = text.map(text => ({ type: 'text', text }))
const called: fc.Arbitrary<Part> = fc.nat({ max: 99 }).map(n => ({
  type: 'tool-call',
  kind: 'function',
  id: `call_${n}`,
  name: 'f',
  arguments: `{"n":${n}}`,
}))
const thought: fc.Arbitrary<Part> = text.map(text => ({ type: 'reasoning', text }))
const signed = (part: fc.Arbitrary<Part>) =>
  fc.tuple(part, seal).map(([part, signature]): Part => ({ ...part, signature }) as Part)
const encrypted = fc
  .tuple(fc.oneof(fc.constant(''), text), seal)
  .map(([text, encrypted]): Part => ({ type: 'reasoning', text, encrypted }))
const redacted: fc.Arbitrary<Part> = seal.map(encrypted => ({ type: 'reasoning', text: '', encrypted }))
const hosted = fc.tuple(signed(thought), text).map(([part, id]): Part => {
  return { ...part, extensions: { 'chat-completions': { id, format: 'vendor:v1' } } } as Part
})

/** What models of each format's hosts give back: seals of its own kinds on the parts that they stand on. */
const SEALED: Readonly<Record<FormatName, fc.Arbitrary<Part>>> = {
  'chat-completions': fc.oneof(hosted, signed(thought), redacted, signed(called)),
  messages: fc.oneof(signed(thought), redacted),
  responses: encrypted,
  'generate-content': fc.oneof(signed(called), signed(said), signed(thought)),
}

/** Upstreams of these formats take another vendor's thoughts in words, so their clients get them bare. */
const TAKES_WORDS: ReadonlySet<FormatName> = new Set(['chat-completions', 'generate-content'])

function turnOf({ client, upstream }: Pair): fc.Arbitrary<Part[]> {
  const words = TAKES_WORDS.has(client) ? said : thought
  return fc.array(fc.oneof(said, called, words, SEALED[upstream]), { minLength: 1, maxLength: 6 })
}

function callOf(messages: readonly Message[]): Call {
  return { model: 'm', messages, isStream: false, wantsStreamUsage: false, extensions: {} }
}

function resultOf(parts: readonly Part[]): Result {
  const finish = { reason: 'stop', raw: undefined } as const
  return { id: 'a', model: 'm', createdAt: 1, choices: [{ index: 0, parts, finish }], usage: undefined, extensions: {} }
}

/** The upstream's turn as the client gets it. */
function given(parts: readonly Part[], sides: Pair): readonly Part[] {
  const { adaptResult = (result: Result) => result } = seals(callOf([]), sides)
  return adaptResult(resultOf(parts)).choices[0]?.parts ?? []
}

/** The same, as a stream in fragments. */
function streamed(parts: readonly Part[], sides: Pair, places: readonly number[]): readonly Part[] {
  const adapt = seals(callOf([]), sides).adaptEvents?.() ?? ((event: CallEvent) => [event])
  const events = eventsOf(parts, places).flatMap(adapt)
  return collectEvents(events).choices[0]?.parts ?? []
}

function eventsOf(parts: readonly Part[], places: readonly number[]): CallEvent[] {
  const inside = parts.flatMap((part, index): CallEvent[] => {
    const at = { choice: 0, part: index }
    const deltas = (whole: string) =>
      cutText(whole, places).map((text): CallEvent => ({ type: 'part-delta', ...at, text }))
    if (part.type === 'tool-call') {
      const { id, name, kind: toolKind, signature } = part
      const start = { type: 'part-start', ...at, kind: 'tool-call', id, name, toolKind } as const
      return [{ ...start, ...(signature && { signature }) }, ...deltas(part.arguments), { type: 'part-end', ...at }]
    }
    if (part.type !== 'text' && part.type !== 'reasoning') return []
    const { type: _, text, ...seals } = part
    return [{ type: 'part-start', ...at, kind: part.type }, ...deltas(text), { type: 'part-end', ...at, ...seals }]
  })
  const end: CallEvent = { type: 'choice-end', choice: 0, finish: { reason: 'stop', raw: undefined } }
  const start: CallEvent = { type: 'response-start', id: 'a', model: 'm', createdAt: 1 }
  return [start, ...inside, end, { type: 'response-end' }]
}

/** The turn as it goes on to an upstream, when the client has sent it back. */
function sentOn(parts: readonly Part[], sides: Pair): readonly Part[] {
  return seals(callOf([{ role: 'assistant', parts }]), sides).call.messages[0]?.parts ?? []
}

function sealsIn(parts: readonly Part[]): string[] {
  return parts.flatMap(part => ['signature', 'encrypted'].flatMap(field => (part as never)[field] ?? []))
}

/** As a client keeps it whose format has thoughts apart from what was said. */
function thoughtsFirst(parts: readonly Part[]): Part[] {
  return [...parts.filter(isThought), ...parts.filter(part => !isThought(part))]
}

function isThought({ type }: Part): boolean {
  return type === 'reasoning'
}

describe('seals', () => {
  for (const upstream of FORMATS) {
    for (const client of FORMATS) {
      if (client === upstream) continue
      const sides = { client, upstream }
      const echo = client === 'chat-completions' ? thoughtsFirst : (parts: readonly Part[]) => parts

      it(`of ${upstream} come back to it through a client of ${client}, where they were`, () => {
        fc.assert(
          fc.property(turnOf(sides), fc.array(fc.nat()), (turn, places) => {
            for (const parts of [given(turn, sides), streamed(turn, sides, places)]) {
              assert.ok(sealsIn(parts).every(each => each.startsWith(ENVELOPE_START) && isBase64(each)))
              assert.deepEqual(sentOn(echo(parts), sides), turn)
            }
          }),
          { numRuns: 100 },
        )
      })

      it(`of ${upstream}, kept by a client of ${client}, go to no other upstream`, () => {
        fc.assert(
          fc.property(turnOf(sides), turn => {
            const parts = echo(given(turn, sides))
            for (const other of FORMATS.filter(each => each !== upstream)) {
              const sent = sentOn(parts, { client, upstream: other })
              assert.deepEqual(sealsIn(sent), [])
              const isKept = ({ type }: Part) => type !== 'reasoning' || TAKES_WORDS.has(other)
              const words = turn.filter(isKept).flatMap(part => ('text' in part ? part.text : []))
              const kept = sent.flatMap(part => ('text' in part ? part.text : []))
              assert.deepEqual(kept.toSorted(), words.filter(each => each !== '').toSorted())
            }
          }),
          { numRuns: 50 },
        )
      })
    }

    it(`that ${upstream} made for a client of its own stay as they are, and stay there`, () => {
      fc.assert(
        fc.property(turnOf({ client: upstream, upstream }), turn => {
          const same = { client: upstream, upstream }
          assert.deepEqual(given(turn, same), turn)
          assert.deepEqual(sentOn(turn, same), turn)
          for (const other of FORMATS.filter(each => each !== upstream)) {
            assert.deepEqual(sealsIn(sentOn(turn, { client: upstream, upstream: other })), [])
          }
        }),
        { numRuns: 50 },
      )
    })
  }

  it('are understood in the other alphabet of base64 as well, in which Google’s SDK for Python writes them', () => {
    const sides = { client: 'generate-content', upstream: 'messages' } as const
    const turn: Part[] = [{ type: 'reasoning', text: 'Hm.', signature: '>>>???ÿÿ' }]
    const [part] = given(turn, sides)
    assert.ok(part?.type === 'reasoning')
    const signature = Buffer.from(part.signature ?? '', 'base64').toString('base64url')
    assert.deepEqual(sentOn([{ ...part, signature }], sides), turn)
  })

  it('that are damaged are nobody’s', () => {
    const signature = Buffer.from('tollgate:messages').toString('base64')
    const parts: Part[] = [{ type: 'reasoning', text: 'Hm.', signature }]
    for (const client of FORMATS) {
      assert.deepEqual(sealsIn(sentOn(parts, { client, upstream: 'messages' })), [])
      assert.deepEqual(sentOn(parts, { client, upstream: 'generate-content' }), [{ type: 'reasoning', text: 'Hm.' }])
    }
  })

  it('that cannot go on are named', () => {
    const parts: Part[] = [{ type: 'reasoning', text: '', encrypted: 'x' }]
    const { warnings } = seals(callOf([{ role: 'assistant', parts }]), { client: 'responses', upstream: 'messages' })
    assert.deepEqual(warnings, ['reasoning sealed by responses has no equivalent in messages'])
  })
})

function isBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64') === text
}
