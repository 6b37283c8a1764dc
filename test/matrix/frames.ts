import assert from 'node:assert/strict'

/** One server-sent event. */
export interface Frame {
  readonly event: string | undefined
  readonly data: string
}

/** The events of a stream that has ended. @throws when it does not end with a blank line */
export function decodeFrames(text: string): Frame[] {
  const blocks = text.split(/\r\n\r\n|\n\n/)
  assert.equal(blocks.pop(), '', 'a stream ends with a blank line')
  return blocks
    .map(block => block.split(/\r?\n/).filter(line => !line.startsWith(':')))
    .filter(lines => lines.length > 0)
    .map(lines => ({ event: field(lines, 'event'), data: field(lines, 'data') ?? '' }))
}

function field(lines: readonly string[], name: string): string | undefined {
  const values = lines.filter(line => line.startsWith(`${name}:`)).map(line => line.slice(name.length + 1).trimStart())
  return values.length === 0 ? undefined : values.join('\n')
}
