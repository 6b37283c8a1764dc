import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { calledTool } from './called-tool.ts'

describe('calledTool', () => {
  const called = { name: 'f', arguments: '{}' }
  const custom = { name: 'sh', input: 'ls' }

  it('reads a function or a custom tool, whichever is called', () => {
    assert.deepEqual(calledTool({ function: called }), { kind: 'function', name: 'f', written: '{}' })
    assert.deepEqual(calledTool({ custom }), { kind: 'custom', name: 'sh', written: 'ls' })
    assert.deepEqual(calledTool({}), { kind: 'function', name: undefined, written: undefined })
  })

  it('believes the type where both are written out', () => {
    const both = { function: called, custom }
    assert.equal(calledTool({ ...both, type: 'function' }).name, 'f')
    assert.equal(calledTool({ ...both, type: 'custom' }).name, 'sh')
    assert.equal(calledTool(both).name, 'f')
  })
})
