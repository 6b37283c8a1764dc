import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { encodeCsvRow } from './csv.ts'

/** A reader of RFC 4180 that is as simple as the grammar there. */
function readCsvRow(row: string): string[] {
  const cells = [...`,${row.slice(0, -2)}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^",\r\n]*))/g)]
  return cells.map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '')
}

describe('a row of CSV', () => {
  it('quotes what needs it, and ends with CR LF', () => {
    assert.equal(encodeCsvRow(['a', 1.5, null, 'b,c', 'd"e', 'f\ng', '']), 'a,1.5,,"b,c","d""e","f\ng",\r\n')
  })

  it('keeps spreadsheets from running a text, and leaves numbers alone', () => {
    const dangerous = ['=1+1', '+1+1', '-2+3', '@SUM(A1)', '\t=1', '\r=1', '=HYPERLINK("http://x","y")', '＝1']
    for (const text of dangerous) assert.equal(readCsvRow(encodeCsvRow([text]))[0], `'${text}`, text)
    assert.equal(encodeCsvRow(['-0.5', '-12', -3]), '-0.5,-12,-3\r\n')
    assert.equal(encodeCsvRow(['a=b', 'a-b', '1+1']), 'a=b,a-b,1+1\r\n')
  })

  it('is read back as what was written, whatever the cells hold', () => {
    const text = fc
      .string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', '=', ' ', 'é') })
      .filter(each => !/^[=\n\r]/.test(each))
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 6 }), cells => {
        assert.deepEqual(readCsvRow(encodeCsvRow(cells)), cells)
      }),
    )
  })
})
