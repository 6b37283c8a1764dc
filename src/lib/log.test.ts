import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLogger, logWide } from './log.ts'

function logged(write: (log: ReturnType<typeof createLogger>) => void, level = 'info'): Record<string, unknown>[] {
  const lines: string[] = []
  write(createLogger({ level, stream: { write: line => void lines.push(line) } }))
  return lines.map(line => JSON.parse(line))
}

describe('the log', () => {
  it('is one JSON object a line, with a time, a level in words and no name of the machine', () => {
    const [line] = logged(log => log.info({ count: 3 }, 'usage.shipped'))
    assert.deepEqual({ ...line, time: '' }, { level: 'info', time: '', count: 3, msg: 'usage.shipped' })
    assert.equal(new Date(String(line?.time)).toISOString(), line?.time)
  })

  it('leaves out what is below its level', () => {
    const lines = logged(log => {
      log.debug('a')
      log.warn('b')
    }, 'warn')
    assert.deepEqual(
      lines.map(line => line.msg),
      ['b'],
    )
  })

  it('redacts secrets by the name of their field, however deep', () => {
    for (const name of ['authorization', 'api_key', 'key', 'secret', 'token', 'password', 'credential']) {
      const [line] = logged(log =>
        log.info({ [name]: 'hunter2', a: [{ [name]: 'hunter2', b: { c: { d: { [name]: 'hunter2' } } } }] }, 'x'),
      )
      assert.doesNotMatch(JSON.stringify(line), /hunter2/, name)
      assert.equal(line?.[name], '[redacted]')
    }
  })

  it('keeps the ids and counts that stand beside secrets', () => {
    const [line] = logged(log =>
      log.info({ api_key_id: 'key_1', prompt_tokens: 5, headers: { authorization: 'x' } }, 'x'),
    )
    assert.equal(line?.api_key_id, 'key_1')
    assert.equal(line?.prompt_tokens, 5)
    assert.deepEqual(line?.headers, { authorization: '[redacted]' })
  })

  it('writes wide lines as it writes others', () => {
    const fields = { b: 1, secret: 'hunter2', a: { list: [{ token: 'hunter2' }] }, missing: undefined }
    const [plain, wide] = logged(log => {
      log.warn(fields, 'x')
      logWide(log, 'warn', fields, 'x')
      logWide(log, 'debug', fields, 'not at this level')
    })
    assert.deepEqual({ ...wide, time: '' }, { ...plain, time: '' })
    assert.deepEqual(Object.keys(wide ?? {}), Object.keys(plain ?? {}))
  })
})
