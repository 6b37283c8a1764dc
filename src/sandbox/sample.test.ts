import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sampleValue } from './sample.ts'

describe('the sandbox’s sample values', () => {
  const weather = {
    type: 'object',
    properties: { city: { type: 'string' }, unit: { enum: ['celsius', 'fahrenheit'] }, days: { type: 'integer' } },
  }

  it('fit the schema', () => {
    const value = sampleValue(weather, 'How is the weather?') as Record<string, unknown>
    assert.deepEqual(Object.keys(value), ['city', 'unit', 'days'])
    assert.equal(value.unit, 'celsius')
    assert.ok(Number.isInteger(value.days))
    assert.deepEqual(sampleValue({ type: ['array', 'null'], items: { type: 'boolean' } }, ''), [true])
    assert.equal(sampleValue({ anyOf: [{ const: 7 }, { type: 'string' }] }, ''), 7)
  })

  it('take up a place that the question names', () => {
    const city = (question: string) => (sampleValue(weather, question) as { city: string }).city
    assert.equal(city('What is the weather in Paris?'), 'Paris')
    assert.equal(city('Flights to São Paulo, please'), 'São Paulo')
    assert.equal(city('What is the weather in there?'), 'Lisbon')
  })

  it('end, also where a schema does not', () => {
    const endless: Record<string, unknown> = { type: 'object', properties: {} }
    ;(endless.properties as Record<string, unknown>).again = endless
    assert.ok(JSON.stringify(sampleValue(endless, '')).endsWith('null}}}}}}}}}'))
  })
})
