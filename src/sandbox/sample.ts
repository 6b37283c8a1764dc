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

/** A value that fits a JSON schema, the same every time: what a model might answer or call a tool with. */
export function sampleValue(schema: unknown, name = '', depth = 0): unknown {
  if (typeof schema !== 'object' || schema === null || depth > DEPTH_MAX) return null
  const node = schema as Schema
  if ('const' in node) return node.const
  if (Array.isArray(node.enum)) return node.enum[0]
  const branches = node.anyOf ?? node.oneOf ?? node.allOf
  if (Array.isArray(branches)) return sampleValue(branches[0], name, depth + 1)
  const type = Array.isArray(node.type) ? node.type[0] : node.type
  const sample = BY_TYPE[String(type ?? ('properties' in node ? 'object' : 'string'))]
  return sample ? sample(node, name, depth) : null
}

const BY_TYPE: Readonly<Record<string, (schema: Schema, name: string, depth: number) => unknown>> = {
  string: (_schema, name) => BY_NAME.find(([pattern]) => pattern.test(name))?.[1] ?? `sample ${name || 'text'}`,
  integer: schema => (typeof schema.minimum === 'number' ? Math.ceil(schema.minimum) : 3),
  number: schema => (typeof schema.minimum === 'number' ? schema.minimum : 21.5),
  boolean: () => true,
  null: () => null,
  array: (schema, name, depth) => [sampleValue(schema.items ?? {}, name, depth + 1)],
  object: (schema, _name, depth) => {
    const properties = Object.entries((schema.properties ?? {}) as Schema)
    return Object.fromEntries(properties.map(([name, property]) => [name, sampleValue(property, name, depth + 1)]))
  },
}
