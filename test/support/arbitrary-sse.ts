import fc from 'fast-check'
import type { Frame } from '#wire/sse/frame.ts'

/** A byte stream of server-sent events, and what it says. */
export interface PrintedStream {
  readonly bytes: Buffer
  /** What each frame says, known from how it was printed. */
  readonly frames: readonly Frame[]
}

interface Line {
  readonly text: string
  readonly data?: string
  readonly event?: string
}

const character = fc.oneof(
  fc.constantFrom('a', '{', ':', ' ', 'é', '€', '😀', '\u0000', '\uFEFF', '\u2028'),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
)

const value = fc.string({ unit: character, maxLength: 12 }).map(text => text.replace(/[\r\n]/g, ''))

/** Of the spaces after the colon the first one belongs to the syntax. */
function field(name: 'data' | 'event', text: string): Line {
  return { text: `${name}:${text}`, [name]: text.startsWith(' ') ? text.slice(1) : text }
}

const line: fc.Arbitrary<Line> = fc.oneof(
  { weight: 5, arbitrary: value.map(text => field('data', ` ${text}`)) },
  { weight: 2, arbitrary: value.map(text => field('data', text)) },
  { weight: 1, arbitrary: fc.constant<Line>({ text: 'data', data: '' }) },
  { weight: 2, arbitrary: value.map(text => field('event', ` ${text}`)) },
  { weight: 2, arbitrary: value.map(text => ({ text: `:${text}` })) },
  { weight: 1, arbitrary: fc.constantFrom('id: 5', 'retry: 10', 'datum: x', ' data: x', 'x').map(text => ({ text })) },
)

const lineEnd = fc.constantFrom('\n', '\r\n', '\r')

/** What the lines of one frame say (WHATWG HTML, "Parsing an event stream"). */
function meaning(lines: readonly Line[]): Frame {
  const data = lines.flatMap(({ data }) => (data === undefined ? [] : [data]))
  return {
    event: lines.findLast(({ event }) => event !== undefined)?.event,
    data: data.length ? data.join('\n') : undefined,
  }
}

export const printedStream: fc.Arbitrary<PrintedStream> = fc
  .record({
    hasMark: fc.boolean(),
    frames: fc.array(fc.tuple(fc.array(fc.tuple(line, lineEnd), { maxLength: 4 }), lineEnd), { maxLength: 6 }),
  })
  .map(({ hasMark, frames }) => {
    let text = hasMark ? '\uFEFF' : ''
    for (const [lines, blankEnd] of frames) {
      for (const [{ text: lineText }, end] of lines) text += lineText + end
      // After a CR a lone LF would end no line of its own: it would complete a CRLF.
      text += text.endsWith('\r') && blankEnd === '\n' ? '\r\n' : blankEnd
    }
    return { bytes: Buffer.from(text), frames: frames.map(([lines]) => meaning(lines.map(([each]) => each))) }
  })
