import { isObject } from '../json/parse.ts'

type Json = Record<string, unknown>

/** Keys of a schema under which one schema lies, a list of them, or one a name. */
const SCHEMAS = new Set(['items', 'not', 'additionalProperties'])
const SCHEMA_LISTS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const SCHEMA_MAPS = new Set(['properties', '$defs', 'definitions', 'patternProperties'])

/** The format's own schemas, a subset of OpenAPI 3.0 with types in capitals, as the JSON schema that all others use. */
export function toJsonSchema(schema: unknown): unknown {
  if (!isObject(schema)) return schema
  const { nullable, propertyOrdering: _, ...rest } = schema
  const converted = convertInner(rest, toJsonSchema)
  const type = typeof converted.type === 'string' ? converted.type.toLowerCase() : converted.type
  if (type === 'type_unspecified') delete converted.type
  else if (type !== undefined) converted.type = nullable === true ? [type, 'null'] : type
  // Google's parser writes 64-bit numbers as text.
  for (const key of COUNTS) if (typeof converted[key] === 'string') converted[key] = Number(converted[key])
  return converted
}

const COUNTS = ['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties']

/** What the subset knows; it answers 400 to anything else. */
const SUBSET = new Set([
  'type',
  'format',
  'title',
  'description',
  'nullable',
  'enum',
  'items',
  'minItems',
  'maxItems',
  'properties',
  'required',
  'minProperties',
  'maxProperties',
  'minLength',
  'maxLength',
  'pattern',
  'minimum',
  'maximum',
  'anyOf',
  'propertyOrdering',
])

/** A reference inside a reference, and so on: deeper than this it is taken for recursive. */
const REFERENCE_DEPTH_MAX = 8

/** References that are written out in one schema: a small one could otherwise grow without bound. */
const REFERENCES_MAX = 500

interface References {
  readonly definitions: Json
  left: number
}

/**
 * A JSON schema cut down to the subset, for upstreams that know nothing else: references are written out, `const`
 * becomes an `enum` of one, `null` among the types becomes `nullable`, and what has no word is left out.
 */
export function toSchemaSubset(schema: unknown): unknown {
  const definitions = isObject(schema) ? { ...asObject(schema.definitions), ...asObject(schema.$defs) } : {}
  return toSubset(schema, { definitions, left: REFERENCES_MAX }, 0)
}

function toSubset(schema: unknown, references: References, depth: number): unknown {
  if (!isObject(schema)) return {}
  const convert = (inner: unknown) => toSubset(inner, references, depth)
  if (typeof schema.$ref === 'string') {
    const { $ref, ...beside } = schema
    const name = $ref.slice($ref.lastIndexOf('/') + 1)
    const isKnown = Object.hasOwn(references.definitions, name)
    if (!isKnown || depth >= REFERENCE_DEPTH_MAX || references.left === 0) return { type: 'OBJECT' }
    references.left -= 1
    return toSubset({ ...asObject(references.definitions[name]), ...beside }, references, depth + 1)
  }
  const known = withoutAliases(schema)
  const subset = convertInner(Object.fromEntries(Object.entries(known).filter(([key]) => SUBSET.has(key))), convert)
  if (typeof subset.type === 'string') subset.type = subset.type.toUpperCase()
  return subset
}

/** Says in the subset's words what JSON schema has other words for. */
function withoutAliases(schema: Json): Json {
  const { const: constant, oneOf, allOf, ...rest } = schema
  let known: Json = rest
  if (Array.isArray(allOf)) for (const part of allOf) known = { ...asObject(part), ...known }
  if (constant !== undefined) known = { type: typeof constant, ...known, enum: [constant] }
  if (Array.isArray(oneOf)) known = { ...known, anyOf: oneOf }
  return withoutNull(known)
}

function withoutNull(schema: Json): Json {
  const isNull = (each: unknown) => each === 'null' || (isObject(each) && each.type === 'null')
  const { type, anyOf, ...rest } = schema
  if (Array.isArray(type)) {
    const types = type.filter(each => !isNull(each))
    const nullable = types.length < type.length && { nullable: true }
    if (types.length === 1) return { ...schema, type: types[0], ...nullable }
    return { ...rest, anyOf: types.map(each => ({ type: each })), ...nullable }
  }
  if (!Array.isArray(anyOf) || !anyOf.some(isNull)) return schema
  const others = anyOf.filter(each => !isNull(each))
  if (others.length === 1) return { ...asObject(others[0]), ...rest, nullable: true }
  return { ...schema, anyOf: others, nullable: true }
}

/** `schema` with every schema directly inside it converted. */
function convertInner(schema: Json, convert: (inner: unknown) => unknown): Json {
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (SCHEMAS.has(key) && isObject(value)) return [key, convert(value)]
      if (SCHEMA_LISTS.has(key) && Array.isArray(value)) return [key, value.map(convert)]
      if (SCHEMA_MAPS.has(key) && isObject(value)) {
        return [key, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, convert(inner)]))]
      }
      return [key, value]
    }),
  )
}

function asObject(value: unknown): Json {
  return isObject(value) ? value : {}
}
