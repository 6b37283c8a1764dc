import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { hostedMessages } from './hosted.ts'

const bedrock = hostedMessages({ version: 'b-1', inAddress: ['model', 'stream'], betas: 'body' })
const vertex = hostedMessages({ version: 'v-1', inAddress: ['model'], betas: 'header' })

const HEADERS = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'one-2025, two-2025' }

function adapt(host: typeof bedrock, body: string, headers: Record<string, string> = {}, betas?: string[]) {
  const adapted = host({ body: Buffer.from(body), headers, warnings: [] }, betas ? { betas } : {})
  return { ...adapted, body: Buffer.from(adapted.body).toString() }
}

describe('hostedMessages', () => {
  it('moves into the address and the body what the host wants there, and keeps every other byte', () => {
    const request =
      '{ "model": "m", "messages":[{"role":"user","content":"1e2 \\u00e9"}],\n "stream" : true, "max_tokens": 5e1}'
    assert.deepEqual(adapt(bedrock, request, HEADERS), {
      body:
        '{ "messages":[{"role":"user","content":"1e2 \\u00e9"}], "max_tokens": 5e1' +
        ',"anthropic_version":"b-1","anthropic_beta":["one-2025","two-2025"]}',
      headers: {},
      warnings: [],
    })
    assert.deepEqual(adapt(vertex, '{"model":"m","stream":true,"max_tokens":5}', HEADERS), {
      body: '{"stream":true,"max_tokens":5,"anthropic_version":"v-1"}',
      headers: { 'anthropic-beta': 'one-2025,two-2025' },
      warnings: [],
    })
  })

  it('says the version and the trials once, wherever and however often the client has said them', () => {
    const said = ['"model":"m"', '"stream":true', '"anthropic_version":"x"', '"anthropic_beta":["y"]']
    fc.assert(
      fc.property(fc.shuffledSubarray(said), fc.nat(), (members, place) => {
        const request = members.toSpliced(place % (members.length + 1), 0, '"messages":[]').join(',')
        const { body } = adapt(bedrock, `{${request}}`, HEADERS)
        const expected = { messages: [], anthropic_version: 'b-1', anthropic_beta: ['one-2025', 'two-2025'] }
        assert.deepEqual(JSON.parse(body), expected)
        assert.equal(body.split('anthropic_version').length, 2)
      }),
    )
  })

  it('leaves the trials that a client has put into the body when no header names others', () => {
    const { body } = adapt(bedrock, '{"anthropic_beta":["mine"],"max_tokens":5}')
    assert.equal(body, '{"anthropic_beta":["mine"],"max_tokens":5,"anthropic_version":"b-1"}')
  })

  it('leaves out, and says so, the trials that the operator has not named', () => {
    const { body, warnings } = adapt(bedrock, '{"max_tokens":5}', HEADERS, ['two-2025'])
    assert.deepEqual(JSON.parse(body).anthropic_beta, ['two-2025'])
    assert.deepEqual(warnings, ['the trial one-2025 is not offered by this provider'])
    const none = adapt(vertex, '{"max_tokens":5}', HEADERS, [])
    assert.deepEqual(none.headers, {})
    assert.equal(none.warnings.length, 2)
  })
})
