import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Call, Part, Source } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import { adapting, callOf, resulting, results, say, user } from '../../../test/support/conversation.ts'
import type { Sides } from '../adaptation.ts'
import { refuseDemands } from './refusals.ts'

function refusal(call: Call, sides: Partial<Sides>): string | undefined {
  try {
    assert.deepEqual(adapting(refuseDemands, call, sides), { call })
    return undefined
  } catch (error) {
    assert.ok(error instanceof Fault)
    assert.equal(error.code, 'unsupported_parameter')
    assert.ok(error.message.includes(`\`${error.param}\``))
    return error.param
  }
}

const asking = (fields: Partial<Call>) => callOf([user(say('Hi'))], fields)
const sending = (...parts: Part[]) => callOf([user(say('Hi'), ...parts)])
const sound = (source: Source, fields = {}): Part => ({ type: 'audio', source, ...fields })

const INLINE: Source = { kind: 'base64', mediaType: 'audio/wav', data: 'AAAA' }
const LINKED: Source = { kind: 'url', url: 'https://example.com/a.wav' }
const STORED: Source = { kind: 'file', id: 'file-1' }

describe('what another answer would come without', () => {
  it('is refused where a format has no several answers', () => {
    assert.equal(refusal(asking({ choices: 2 }), { upstream: 'messages' }), 'n')
    assert.equal(refusal(asking({ choices: 2 }), { upstream: 'responses' }), 'n')
    const google = { client: 'generate-content', upstream: 'messages' } as const
    assert.equal(refusal(asking({ choices: 2 }), google), 'generationConfig.candidateCount')
    assert.equal(refusal(asking({ choices: 2 }), { upstream: 'generate-content' }), undefined)
    assert.equal(refusal(asking({ choices: 1 }), { upstream: 'messages' }), undefined)
  })

  it('is refused where a format answers in text alone', () => {
    assert.equal(refusal(asking({ modalities: ['text', 'audio'] }), { upstream: 'messages' }), 'modalities')
    const google = { client: 'generate-content', upstream: 'responses' } as const
    assert.equal(refusal(asking({ modalities: ['image'] }), google), 'generationConfig.responseModalities')
    assert.equal(refusal(asking({ modalities: ['audio'] }), { upstream: 'generate-content' }), undefined)
    assert.equal(refusal(asking({ modalities: ['text'] }), { upstream: 'messages' }), undefined)
  })

  it('is refused where audio cannot be heard, unless its words are there', () => {
    assert.equal(refusal(sending(sound(INLINE)), { upstream: 'messages' }), 'input_audio')
    assert.equal(refusal(callOf([results(resulting('a', sound(INLINE)))]), { upstream: 'messages' }), 'input_audio')
    assert.equal(refusal(sending(sound(INLINE, { transcript: 'Hi' })), { upstream: 'messages' }), undefined)
    assert.equal(refusal(sending(sound(INLINE)), { upstream: 'responses' }), undefined)
    const google = { client: 'generate-content', upstream: 'responses' } as const
    assert.equal(refusal(sending(sound(LINKED)), google), 'inlineData')
  })

  it('is refused where a file lies with another vendor', () => {
    const image: Part = { type: 'image', source: STORED }
    const paper: Part = { type: 'document', source: STORED }
    assert.equal(refusal(sending(paper), { upstream: 'messages' }), 'file_id')
    assert.equal(refusal(sending(image), { client: 'messages', upstream: 'responses' }), 'file_id')
    assert.equal(refusal(sending(paper), { client: 'generate-content', upstream: 'messages' }), 'fileData.fileUri')
    assert.equal(refusal(sending(paper), { upstream: 'responses' }), undefined)
    assert.equal(refusal(sending(paper), { client: 'responses', upstream: 'chat-completions' }), undefined)
    assert.equal(refusal(sending(image), { client: 'responses', upstream: 'chat-completions' }), 'file_id')
    assert.equal(refusal(sending({ type: 'image', source: LINKED }), { upstream: 'messages' }), undefined)
  })
})
