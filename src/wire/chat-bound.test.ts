import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { callOf, say, system, user } from '../../test/support/conversation.ts'
import { target } from '../../test/support/target.ts'
import { CHAT_FORMATS } from './formats.ts'
import { CAUTIOUS } from './token-estimate.ts'

const UNLIMITED = { contextLength: undefined, maxOutputTokens: undefined }

/** Kinds of text that have many tokens for their length, and any other. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }),
  fc.base64String({ minLength: 4, maxLength: 300 }),
  fc.json({ maxDepth: 3 }),
  fc.array(fc.double({ noNaN: true }), { minLength: 1, maxLength: 40 }).map(numbers => numbers.join(',')),
)

describe('what is set aside for a request', () => {
  for (const format of CHAT_FORMATS.values()) {
    it(`covers every token of the text of a ${format.name} request, whatever is written`, () => {
      const conversations = fc.tuple(text, fc.array(text, { minLength: 1, maxLength: 4 }))
      fc.assert(
        fc.property(conversations, ([instructions, said]) => {
          const call = callOf([system(say(instructions)), ...said.map(each => user(say(each)))], { maxOutputTokens: 9 })
          const { body } = format.encodeRequest(call, target())
          const { inputTokens = 0 } = format.passThrough
            .readRequest({ model: 'm', ...body })
            .estimate(UNLIMITED, CAUTIOUS)
          const texts = [instructions, ...said].map(each => Buffer.from(each).toString())
          const real = texts.reduce((sum, each) => sum + countTokens(each), 0)
          assert.ok(Number.isSafeInteger(inputTokens) && inputTokens >= real, `${inputTokens} < ${real}`)
        }),
        { numRuns: 200 },
      )
    })
  }

  const pdf = Buffer.alloc(300_000).toString('base64')
  const url = 'https://example.com/long.pdf'
  const named: Readonly<Record<string, { packed: object; named: object }>> = {
    'chat-completions': {
      packed: chatBody({ type: 'file', file: { file_data: `data:application/pdf;base64,${pdf}` } }),
      named: chatBody({ type: 'file', file: { file_id: 'file-1' } }),
    },
    messages: {
      packed: chatBody({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf } }),
      named: chatBody({ type: 'document', source: { type: 'url', url } }),
    },
    responses: {
      packed: itemBody({ type: 'input_file', file_data: `data:application/pdf;base64,${pdf}` }),
      named: itemBody({ type: 'input_file', file_url: url }),
    },
    'generate-content': {
      packed: partBody({ inlineData: { mimeType: 'application/pdf', data: pdf } }),
      named: partBody({ fileData: { mimeType: 'video/mp4', fileUri: url } }),
    },
  }
  for (const format of CHAT_FORMATS.values()) {
    it(`covers the pages of a document in a ${format.name} request, and for one that is only named all that the model reads`, () => {
      const bound = (body: unknown, contextLength?: number) =>
        format.passThrough.readRequest(body).estimate({ ...UNLIMITED, contextLength }, CAUTIOUS).inputTokens ?? 0
      const { packed, named: onlyNamed } = named[format.name] as { packed: object; named: object }
      // Thirty dense pages of 10 kB at 3,000 tokens.
      assert.ok(bound(packed) >= 90_000, String(bound(packed)))
      assert.equal(bound(onlyNamed, 200_000), 200_000)
    })
  }
})

function chatBody(part: object): object {
  return { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: [part] }] }
}

function itemBody(part: object): object {
  return { model: 'm', input: [{ role: 'user', content: [part] }] }
}

function partBody(part: object): object {
  return { model: 'm', contents: [{ role: 'user', parts: [part] }] }
}
