import type { TSchema } from 'typebox'
import type { AnyRoute, RouteDocs } from './route.ts'

const ERROR_SCHEMA = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['message', 'type'],
      properties: {
        message: { type: 'string' },
        type: { type: 'string' },
        code: { type: 'string' },
        param: { type: 'string', description: 'The field at fault' },
        did_you_mean: { type: 'string' },
        suggestions: { type: 'array', items: { type: 'object', properties: { id: { type: 'string' } } } },
        hint: { type: 'string' },
        retryable: { type: 'boolean' },
        retry_after: { type: 'integer', description: 'Seconds' },
      },
    },
    validation_errors: {
      type: 'array',
      description: 'Every field at fault, where a body has several fields',
      items: { type: 'object', properties: { field: { type: 'string' }, message: { type: 'string' } } },
    },
  },
}

const SECURITY: Readonly<Record<RouteDocs['security'], object[]>> = {
  'api-key': [{ apiKey: [] }],
  'management-token': [{ managementToken: [] }],
  none: [],
}

const STATUS_TEXT: Readonly<Record<number, string>> = {
  400: 'Invalid parameters',
  401: 'Invalid or missing key',
  402: 'Insufficient balance or key limit reached',
  403: 'Access denied or model not allowed',
  404: 'Not found',
  413: 'Body too large',
  429: 'Rate limit exceeded',
  500: 'Internal error',
  502: 'Upstream provider error',
  503: 'Temporarily unavailable',
  504: 'Timed out',
}

/** The OpenAPI 3.1 document of a route table. */
export function openApiDocument(routes: readonly AnyRoute[]): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    const path = documentedPath(route.path)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, path) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tollgate',
      version: '1.0.0',
      description: 'One address in front of every AI model provider, with exact metering.',
    },
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', bearerFormat: 'sk-…' },
        managementToken: { type: 'http', scheme: 'bearer', bearerFormat: 'mt-…' },
      },
      schemas: { Error: ERROR_SCHEMA },
    },
  }
}

/** `/v1/models/*` and `/v1/x/:keyId` as OpenAPI writes parameters. */
function documentedPath(pattern: string): string {
  return pattern.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '{id}')
}

function operation({ docs }: AnyRoute, path: string): object {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const errors = [...docs.errors, 500].map(status => [
    String(status),
    {
      description: STATUS_TEXT[status] ?? 'Error',
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    },
  ])
  return {
    tags: [docs.tag],
    summary: docs.summary,
    security: SECURITY[docs.security],
    parameters: [...inPath, ...queryParameters(docs.query)],
    ...(docs.body && { requestBody: { required: true, content: { 'application/json': { schema: docs.body } } } }),
    responses: { [docs.successStatus ?? 200]: success(docs), ...Object.fromEntries(errors) },
  }
}

function queryParameters(query: TSchema | undefined): object[] {
  const { properties = {}, required = [] } = (query ?? {}) as {
    properties?: Record<string, object>
    required?: string[]
  }
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }))
}

function success({ response, isStreamable, successStatus, contentType = 'application/json' }: RouteDocs): object {
  return {
    description: successStatus === 201 ? 'Created' : 'OK',
    content: {
      [contentType]: response ? { schema: response } : {},
      ...(isStreamable && { 'text/event-stream': { schema: { type: 'string' } } }),
    },
  }
}
