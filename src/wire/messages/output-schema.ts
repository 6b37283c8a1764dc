import { isObject } from '../json/parse.ts'

type Json = Readonly<Record<string, unknown>>

/** What the API refuses in the schema of an answer (Anthropic API reference, structured outputs). */
const LIMITS: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'patternProperties',
  'dependentRequired',
  'dependentSchemas',
])

/** Formats of texts that the API takes. */
const FORMATS: ReadonlySet<unknown> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
])

type Rewrite = (value: unknown) => unknown

const eachValue: Rewrite = value =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, encodeSchema(schema)]))
    : value
const eachItem: Rewrite = value => (Array.isArray(value) ? value.map(encodeSchema) : value)

/** Where schemas stand inside a schema; what is not listed is data. */
const INNER: ReadonlyMap<string, Rewrite> = new Map([
  ['properties', eachValue],
  ['$defs', eachValue],
  ['definitions', eachValue],
  ['items', encodeSchema],
  ['anyOf', eachItem],
  ['allOf', eachItem],
  ['oneOf', eachItem],
])

/** Keys under which there is one schema or a list of them. */
const SCHEMAS = ['items', 'anyOf', 'allOf', 'oneOf']

/**
 * A schema as the API takes it for an answer: objects are closed, alternatives are `anyOf`, and limits that it would
 * refuse are told to the model in the description instead.
 */
export function encodeSchema(schema: unknown): unknown {
  if (!isObject(schema)) return schema
  const limits: string[] = []
  const encoded: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(schema)) {
    if (isLimit(key, value)) limits.push(`${key}: ${JSON.stringify(value)}`)
    else encoded[key === 'oneOf' && !('anyOf' in schema) ? 'anyOf' : key] = INNER.get(key)?.(value) ?? value
  }
  if (isObjectSchema(schema)) encoded.additionalProperties = false
  return limits.length === 0 ? encoded : { ...encoded, description: describe(schema, limits) }
}

function isObjectSchema({ type, properties }: Json): boolean {
  if (type === undefined) return isObject(properties)
  return type === 'object' || (Array.isArray(type) && type.includes('object'))
}

/** Whether an object of the schema may have members that it does not name: the API closes every object. */
export function hasOpenObjects(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasOpenObjects)
  if (!isObject(schema)) return false
  const { additionalProperties: others = false, properties, $defs, definitions, ...rest } = schema
  if (others !== false) return true
  const named = [properties, $defs, definitions].flatMap(each => (isObject(each) ? Object.values(each) : []))
  return named.some(hasOpenObjects) || SCHEMAS.some(key => hasOpenObjects(rest[key]))
}

function isLimit(key: string, value: unknown): boolean {
  if (key === 'format') return !FORMATS.has(value)
  // Of the limits only "at least one" is taken.
  return LIMITS.has(key) && !(key === 'minItems' && (value === 0 || value === 1))
}

function describe({ description }: Json, limits: readonly string[]): string {
  const told = `(${limits.join(', ')})`
  return typeof description === 'string' ? `${description} ${told}` : told
}
