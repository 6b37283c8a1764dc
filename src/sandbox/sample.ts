type Schema = Readonly<Record<string, unknown>>

/** Values that make sense for common field names, tried before the type alone decides. */
const BY_NAME: readonly (readonly [RegExp, string])[] = [
  [/city|location|place/i, 'Lisbon'],
  [/country/i, 'Portugal'],
  [/date|day/i, '2026-01-31'],
  [/time/i, '12:00'],
  [/e-?mail/i, 'ada@example.com'],
  [/url|link/i, 'https://example.com'],
  [/name|author|person/i, 'Ada Lovelace'],
  [/query|search|question|keyword/i, 'how gateways work'],
  [/unit/i, 'celsius'],
  [/currency/i, 'USD'],
  [/language|lang/i, 'en'],
]

const DEPTH_MAX = 8

/** A proper name after a preposition: "the weather in New York". */
const PLACE = /\b(?:in|at|of|for|to|from|near)\s+(\p{Lu}[\p{L}'-]+(?:\s\p{Lu}[\p{L}'-]+)*)/u

/**
 * A value that fits a JSON schema, the same every time: what a model might answer or call a tool with.
 *
 * @param question what was asked; a place named there is used where one is wanted
 */
export function sampleValue(schema: unknown, question: string): unknown {
  const place = PLACE.exec(question)?.[1]
  return sample(schema, { name: '', depth: 0, place })
}

interface Spot {
  /** Of the field that is filled in. */
  readonly name: string
  readonly depth: number
  readonly place: string | undefined
}

function sample(schema: unknown, spot: Spot): unknown {
  if (typeof schema !== 'object' || schema === null || spot.depth > DEPTH_MAX) return null
  const node = schema as Schema
  if ('const' in node) return node.const
  if (Array.isArray(node.enum)) return node.enum[0]
  const inner = { ...spot, depth: spot.depth + 1 }
  const branches = node.anyOf ?? node.oneOf ?? node.allOf
  if (Array.isArray(branches)) return sample(branches[0], inner)
  const type = Array.isArray(node.type) ? node.type[0] : node.type
  return BY_TYPE[String(type ?? ('properties' in node ? 'object' : 'string'))]?.(node, inner) ?? null
}

function sampleText({ name, place }: Spot): string {
  const known = BY_NAME.find(([pattern]) => pattern.test(name))
  if (place !== undefined && known === BY_NAME[0]) return place
  return known?.[1] ?? `sample ${name || 'text'}`
}

const BY_TYPE: Readonly<Record<string, (schema: Schema, spot: Spot) => unknown>> = {
  string: (_schema, spot) => sampleText(spot),
  integer: schema => (typeof schema.minimum === 'number' ? Math.ceil(schema.minimum) : 3),
  number: schema => (typeof schema.minimum === 'number' ? schema.minimum : 21.5),
  boolean: () => true,
  null: () => null,
  array: (schema, spot) => [sample(schema.items ?? {}, spot)],
  object: (schema, spot) => {
    const properties = Object.entries((schema.properties ?? {}) as Schema)
    return Object.fromEntries(properties.map(([name, property]) => [name, sample(property, { ...spot, name })]))
  },
}
