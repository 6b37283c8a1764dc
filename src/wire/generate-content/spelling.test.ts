import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inCamelCase } from './spelling.ts'

describe('inCamelCase', () => {
  it("renames the format's own names at every depth", () => {
    const body = {
      system_instruction: { parts: [{ text: 'Be brief.' }] },
      contents: [{ parts: [{ inline_data: { mime_type: 'image/png', data: 'AAAA' } }, { thought_signature: 's' }] }],
      generation_config: { top_k: 1, thinking_config: { include_thoughts: true } },
    }
    assert.deepEqual(inCamelCase(body), {
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }, { thoughtSignature: 's' }] }],
      generationConfig: { topK: 1, thinkingConfig: { includeThoughts: true } },
    })
  })

  it("leaves the caller's own names alone", () => {
    const verbatim = {
      x_vendor: { some_thing: 1 },
      function_call: { args: { top_k: 1, mime_type: 'x' } },
      function_response: { response: { file_uri: 'x' } },
      response_schema: { properties: { top_p: {} } },
      labels: { top_p: 'x' },
    }
    assert.deepEqual(inCamelCase(verbatim), {
      x_vendor: { some_thing: 1 },
      functionCall: { args: { top_k: 1, mime_type: 'x' } },
      functionResponse: { response: { file_uri: 'x' } },
      responseSchema: { properties: { top_p: {} } },
      labels: { top_p: 'x' },
    })
  })

  it('is the value itself when nothing has another name', () => {
    const body = { contents: [{ parts: [{ text: 'Hi' }] }], generationConfig: { topK: 1 } }
    assert.equal(inCamelCase(body), body)
  })
})
