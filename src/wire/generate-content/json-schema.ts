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
  else if (type !== undefined) converted.type = type
  if (nullable === true) Object.assign(converted, withNull(converted))
  // Google's parser writes 64-bit numbers as text.
  for (const key of COUNTS) if (typeof converted[key] === 'string') converted[key] = Number(converted[key])
  return converted
}

/** What admits null too: each of these would refuse it by itself. */
function withNull({ type, enum: values, anyOf }: Json): Json {
  return {
    ...(type !== undefined && { type: [type, 'null'] }),
    ...(Array.isArray(values) && { enum: [...values, null] }),
    ...(Array.isArray(anyOf) && { anyOf: [...anyOf, { type: 'null' }] }),
  }
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
    const definition = depth < REFERENCE_DEPTH_MAX ? definitionOf($ref, references) : undefined
    if (!definition) return { type: 'OBJECT' }
    return toSubset({ ...definition, ...beside }, references, depth + 1)
  }
  const known = withoutAliases(withWhole(schema, references))
  // Alternatives to null, and parts of a whole, are often references.
  if (typeof known.$ref === 'string') return toSubset(known, references, depth)
  const subset = convertInner(Object.fromEntries(Object.entries(known).filter(([key]) => SUBSET.has(key))), convert)
  return withinLimits(subset)
}

/** Formats that the subset takes; it refuses all others. */
const FORMATS = new Set(['enum', 'date-time', 'int32', 'int64', 'float', 'double'])

/** Types in capitals, lists with a type for their items, and nothing said that would be refused. */
function withinLimits(subset: Json): Json {
  const { type, format, enum: values, required, ...rest } = subset
  const limited: Json = { ...rest }
  if (typeof type === 'string') limited.type = type.toUpperCase()
  if (limited.type === 'ARRAY') limited.items ??= { type: 'STRING' }
  if (FORMATS.has(String(format))) limited.format = format
  const named = Array.isArray(required)
    ? required.filter(name => Object.hasOwn(asObject(rest.properties), String(name)))
    : []
  if (named.length > 0) limited.required = named
  return Array.isArray(values) ? { ...limited, ...limitedEnum(values, limited) } : limited
}

/** Only texts can be listed; other values are told in the description. */
function limitedEnum(values: readonly unknown[], { description }: Json): Json {
  const others = values.filter(value => value !== null)
  const nullable = others.length < values.length && { nullable: true }
  if (others.length === 0) return { ...nullable }
  if (others.every(value => typeof value === 'string')) return { enum: others, ...nullable }
  const told = `One of ${others.map(value => JSON.stringify(value)).join(', ')}`
  return { description: typeof description === 'string' ? `${description} (${told})` : told, ...nullable }
}

/** A part of a whole that is a reference is what it refers to, so that it can be merged with the others. */
function withWhole(schema: Json, references: References): Json {
  if (!Array.isArray(schema.allOf)) return schema
  const parts = schema.allOf.map(part => {
    const { $ref, ...beside } = asObject(part)
    const definition = typeof $ref === 'string' ? definitionOf($ref, references) : undefined
    return definition ? { ...definition, ...beside } : part
  })
  return { ...schema, allOf: parts }
}

function definitionOf(reference: string, references: References): Json | undefined {
  const name = reference.slice(reference.lastIndexOf('/') + 1)
  if (!Object.hasOwn(references.definitions, name) || references.left === 0) return undefined
  references.left -= 1
  return asObject(references.definitions[name])
}

/** Says in the subset's words what JSON schema has other words for. */
function withoutAliases(schema: Json): Json {
  const { const: constant, oneOf, allOf, ...rest } = schema
  let known: Json = rest
  if (Array.isArray(allOf)) known = allOf.map(asObject).reduce(merged, known)
  if (constant !== undefined)
    known = { ...(constant !== null && { type: typeof constant }), ...known, enum: [constant] }
  if (Array.isArray(oneOf)) known = { ...known, anyOf: oneOf }
  return withoutNull(known)
}

/** Both at once: the properties of both, and everything else of the first that has it. */
function merged(schema: Json, part: Json): Json {
  const properties = { ...asObject(part.properties), ...asObject(schema.properties) }
  const required = [...new Set([schema.required, part.required].flatMap(each => (Array.isArray(each) ? each : [])))]
  return {
    ...part,
    ...schema,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  }
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
