import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TYPICAL } from '../token-estimate.ts'
import { estimate } from './estimate.ts'
import type { GenerateContentRequest, WirePart } from './schema.ts'

const UNLIMITED = { contextLength: undefined, maxOutputTokens: undefined }

function inputOf(
  parts: WirePart[],
  fields: Partial<GenerateContentRequest> = {},
  limits = UNLIMITED,
): number | undefined {
  return estimate({ model: 'm', contents: [{ parts }], ...fields }, limits).inputTokens
}

function outputOf(generationConfig: GenerateContentRequest['generationConfig'], maxOutputTokens?: number) {
  return estimate(
    { model: 'm', contents: [], generationConfig: generationConfig ?? null },
    { contextLength: undefined, maxOutputTokens },
  ).outputTokens
}

describe('the estimate of a generate-content request', () => {
  it('counts text by its UTF-8 bytes, instructions included, and something for every content', () => {
    assert.equal(inputOf([{ text: 'x'.repeat(400) }]), 100 + TYPICAL.message)
    assert.equal(inputOf([{ text: '€'.repeat(400) }]), 300 + TYPICAL.message)
    const instructions = { text: 'x'.repeat(40) }
    for (const systemInstruction of [instructions.text, { parts: [instructions] }])
      assert.equal(inputOf([], { systemInstruction }), 10 + 2 * TYPICAL.message)
  })

  it('counts media by their kind, not by the length of their base64', () => {
    const inline = (mimeType: string, length: number) => ({ inlineData: { mimeType, data: 'A'.repeat(length) } })
    const file = { fileData: { fileUri: 'https://example.com/a.png' } }
    const parts = [inline('image/png', 1_000_000), inline('audio/wav', 3200), inline('text/plain', 16), file]
    assert.equal(inputOf(parts), TYPICAL.message + 2 * TYPICAL.image + 3 + 3)
  })

  it('counts tools, calls and results', () => {
    const tools = [{ functionDeclarations: [{ name: 'f', parameters: { type: 'OBJECT' } }] }]
    const parts = [
      { functionCall: { name: 'f', args: { a: 1 } } },
      { functionResponse: { name: 'f', response: { b: 2 } } },
    ]
    const tokens = (value: unknown) => Math.ceil(JSON.stringify(value).length / 4)
    assert.equal(
      inputOf(parts, { tools }),
      TYPICAL.message + tokens(tools) + parts.reduce((sum, part) => sum + tokens(part), 0),
    )
  })

  it('is never more than the model takes in', () => {
    assert.equal(inputOf([{ text: 'x'.repeat(4000) }], {}, { ...UNLIMITED, contextLength: 64 } as never), 64)
  })

  it('allows the output that was asked for, up to what the model can say, for each candidate', () => {
    assert.equal(outputOf({ maxOutputTokens: 10 }), 10)
    assert.equal(outputOf({ maxOutputTokens: 5000 }, 1000), 1000)
    assert.equal(outputOf(undefined, 1000), 1000)
    assert.equal(outputOf({ maxOutputTokens: 10, candidateCount: 3 }, 1000), 30)
    assert.equal(outputOf(null), 4096)
  })
})
