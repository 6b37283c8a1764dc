import fc from 'fast-check'

/** JSON text as no printer of ours would write it: random white space, escapes and number spellings. */
export interface PrintedObject {
  readonly text: string
  /** In the order of the text. */
  readonly members: readonly PrintedMember[]
}

export interface PrintedMember {
  readonly key: string
  /** The value exactly as it stands in the text. */
  readonly valueText: string
}

export const jsonSpace = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 2 })

/** Everything that a scanner could stumble over: structure, quotes, escapes, long UTF-8, halves of surrogate pairs. */
const character = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('a', 'B', '0', '_', ' ', '/') },
  { weight: 3, arbitrary: fc.constantFrom('"', '\\', '{', '}', '[', ']', ':', ',') },
  { weight: 2, arbitrary: fc.constantFrom('\n', '\t', '\b', '\u0000', 'é', '€', '\u2028', '😀', '\ud83d', '\ude00') },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) },
)

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

/** A character raw, in its short escape, or as code units in hexadecimal: whichever is allowed. */
function spell(text: string, spelling: number): string {
  const short = SHORT_ESCAPES[text]
  const mustEscape = text < ' ' || text === '"' || text === '\\' || !text.isWellFormed()
  if (spelling === 0 && !mustEscape) return text
  if (spelling <= 1 && short !== undefined) return short
  const units = Array.from({ length: text.length }, (_, i) => text.charCodeAt(i).toString(16).padStart(4, '0'))
  return units.map(unit => `\\u${spelling === 2 ? unit.toUpperCase() : unit}`).join('')
}

/** The characters of a string, each with a way to spell it. */
const spelledCharacters = fc.array(fc.tuple(character, fc.nat({ max: 3 })), { maxLength: 8 })

function printString(characters: readonly (readonly [string, number])[]) {
  return {
    value: characters.map(([text]) => text).join(''),
    text: `"${characters.map(([text, spelling]) => spell(text, spelling)).join('')}"`,
  }
}

const printedString = spelledCharacters.map(printString)

/**
 * Without backslashes: once V8 13.6 (Node 24) has seen the key `a\`, its `JSON.parse` takes the key `a"` for it, and is
 * no oracle for either.
 */
const printedKey = spelledCharacters.map(characters => printString(characters.filter(([text]) => text !== '\\')))

const numberText = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(value => JSON.stringify(value)),
  fc.constantFrom('-0', '0.0', '1.50', '1E5', '-12.0e-2', '123456789012345678901234567890'),
)

const { value: valueText } = fc.letrec<{ value: string; array: string; object: string }>(tie => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom('null', 'true', 'false'),
    numberText,
    printedString.map(({ text }) => text),
    tie('array'),
    tie('object'),
  ),
  array: fc
    .tuple(jsonSpace, fc.array(fc.tuple(jsonSpace, tie('value'), jsonSpace), { maxLength: 3 }))
    .map(([space, items]) => `[${space}${items.map(parts => parts.join('')).join(',')}]`),
  object: fc
    .tuple(
      jsonSpace,
      fc.array(fc.tuple(jsonSpace, printedKey, jsonSpace, jsonSpace, tie('value'), jsonSpace), { maxLength: 3 }),
    )
    .map(([space, members]) => `{${space}${members.map(printMember).join(',')}}`),
}))

type SpacedMember = readonly [string, { text: string }, string, string, string, string]

function printMember([beforeKey, key, afterKey, beforeValue, value, afterValue]: SpacedMember): string {
  return `${beforeKey}${key.text}${afterKey}:${beforeValue}${value}${afterValue}`
}

export const jsonText: fc.Arbitrary<string> = valueText

/** An object with different keys. */
export const printedObject: fc.Arbitrary<PrintedObject> = fc
  .tuple(
    jsonSpace,
    jsonSpace,
    fc.uniqueArray(fc.tuple(jsonSpace, printedKey, jsonSpace, jsonSpace, valueText, jsonSpace), {
      maxLength: 6,
      selector: ([, key]) => key.value,
    }),
    jsonSpace,
  )
  .map(([before, inside, members, after]) => ({
    text: `${before}{${inside}${members.map(printMember).join(',')}}${after}`,
    members: members.map(([, key, , , value]) => ({ key: key.value, valueText: value })),
  }))

/** Any JSON value as `JSON.parse` gives it: no negative zero, no objects without a prototype. */
export const jsonValue: fc.Arbitrary<unknown> = fc
  .jsonValue({ maxDepth: 2 })
  .map(value => JSON.parse(JSON.stringify(value)) as unknown)
