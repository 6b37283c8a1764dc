import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Fault } from '#core/fault.ts'
import { jsonText, printedObject } from '../../../test/support/arbitrary-json.ts'
import { isObject, parseJsonObject, tryParse } from './parse.ts'

function refused(bytes: Buffer | string): Fault {
  try {
    parseJsonObject(Buffer.from(bytes))
  } catch (error) {
    assert.ok(error instanceof Fault)
    assert.equal(error.code, 'invalid_request')
    return error
  }
  assert.fail('it was accepted')
}

describe('parseJsonObject', () => {
  it('reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(printedObject, ({ text, members }) => {
        fc.pre(members.every(({ key }) => key !== '__proto__'))
        assert.deepEqual(parseJsonObject(Buffer.from(text)), JSON.parse(text))
      }),
      { numRuns: 300 },
    )
  })

  it('refuses an empty body, JSON that is no object, and text that is no JSON, each with a reason', () => {
    assert.match(refused('').message, /empty/)
    for (const text of ['[]', '"{}"', '1', 'null', 'true']) assert.match(refused(text).message, /must be a JSON object/)
    for (const text of ['{', '{"a":1,}', "{'a':1}", '{"a":NaN}', '{} {}', '\uFEFF{}', '  ']) {
      assert.match(refused(text).message, /not valid JSON/)
    }
  })

  it('refuses a body that is not UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from('{"a":"'), Buffer.of(0xff), Buffer.from('"}')])
    assert.match(refused(bytes).message, /UTF-8/)
  })

  it('refuses a key that stands twice, also when it is spelled with an escape', () => {
    for (const text of ['{"model":"a","x":1,"model":"b"}', '{"model":"a","m\\u006fdel":"b"}']) {
      const fault = refused(text)
      assert.equal(fault.param, 'model')
      assert.match(fault.message, /twice/)
    }
  })

  it('refuses the key __proto__ at the top level', () => {
    for (const text of ['{"__proto__":{}}', '{"a":1,"\\u005f_proto__":1}'])
      assert.equal(refused(text).param, '__proto__')
  })

  it('leaves nested repeats and nested prototypes to the upstream, and is not changed by them', () => {
    const value = parseJsonObject(Buffer.from('{"a":{"b":1,"b":2,"__proto__":{"polluted":true}}}'))
    assert.equal((value.a as Record<string, unknown>).b, 2)
    assert.equal(({} as Record<string, unknown>).polluted, undefined)
  })

  it('throws nothing but a Fault, whatever the bytes', () => {
    const edges = fc.constantFrom(...['{', '}', '"', '\\', ',', ':', '[', '\u0000', '{"a":', '\ufeff', 'null', '1e999'])
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 64 }).map(each => Buffer.from(each)),
      fc.array(edges, { maxLength: 12 }).map(each => Buffer.from(each.join(''))),
      jsonText.map(each => Buffer.from(each)),
      fc.tuple(printedObject, fc.nat()).map(([{ text }, at]) => Buffer.from(text.slice(0, at % (text.length + 1)))),
      fc
        .tuple(fc.array(printedObject, { minLength: 1, maxLength: 2 }), fc.constantFrom('', ',', '{"a":1'))
        .map(([objects, tail]) => Buffer.from(objects.map(({ text }) => text).join('') + tail)),
    )
    fc.assert(
      fc.property(bytes, each => {
        try {
          assert.ok(isObject(parseJsonObject(each)))
        } catch (error) {
          assert.ok(error instanceof Fault, String(error))
          assert.equal(error.status, 400)
        }
      }),
      { numRuns: 1000 },
    )
  })
})

describe('tryParse', () => {
  it('reads JSON of any type, and answers undefined for anything else', () => {
    assert.deepEqual(tryParse(Buffer.from('[1]')), [1])
    assert.equal(tryParse(Buffer.from('<html>')), undefined)
    assert.equal(tryParse(Buffer.alloc(0)), undefined)
  })
})

describe('isObject', () => {
  it('is true of objects that are neither null nor an array', () => {
    assert.equal(isObject({}), true)
    for (const value of [null, [], 'x', 1, undefined]) assert.equal(isObject(value), false)
  })
})
