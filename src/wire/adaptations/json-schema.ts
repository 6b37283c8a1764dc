import type { Adapt } from '../adaptation.ts'
import { instruct } from './instruct.ts'

/**
 * Hosts of chat-completions that can be asked for JSON and not for a schema: the schema is asked for in words.
 * Generate-content without JSON schema has another one, of which its codec knows.
 */
export const adaptJsonSchema: Adapt = (call, { upstream, quirks }) => {
  if (call.output?.type !== 'json-schema' || upstream !== 'chat-completions' || quirks.jsonSchemas !== false) {
    return { call }
  }
  const { description, schema } = call.output
  const wish = `Answer with one JSON object and nothing else. It must be valid by this JSON schema:\n\n${JSON.stringify(schema)}`
  return {
    call: {
      ...instruct(call, description === undefined ? wish : `${wish}\n\n${description}`),
      output: { type: 'json' },
    },
    warnings: ['the output schema is asked for in words only: this provider knows no schemas'],
  }
}
