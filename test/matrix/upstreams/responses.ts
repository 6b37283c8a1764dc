import { readImageUrl, TurnReader } from './asked.ts'
import type { Dialect, Json } from './dialect.ts'

export const responses: Dialect = {
  format: 'responses',
  provider: 'openai',
  basePath: '/v1',
  path: /^\/v1\/responses$/,
  read: body => ({
    model: body.model,
    isStream: body.stream === true,
    system: body.instructions,
    turns: readTurns(body.input),
    tools: body.tools?.map(({ type: _type, strict: _strict, ...tool }: Json) => tool),
    toolChoice: body.tool_choice?.name === undefined ? body.tool_choice : { name: body.tool_choice.name },
    schema: body.text?.format?.schema,
    stop: body.stop,
    effort: body.reasoning?.effort,
    maxTokens: body.max_output_tokens,
  }),
}

function readTurns(input: Json) {
  const reader = new TurnReader()
  const items: readonly Json[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  for (const item of items) {
    if (item.type === 'function_call') {
      const call = { name: item.name, arguments: JSON.parse(item.arguments) }
      reader.add('model', { calls: [reader.call(item.call_id, call)] })
    } else if (item.type === 'function_call_output') {
      reader.add('user', { results: [reader.result(item.call_id, text(item.output))] })
    } else if (item.type === 'reasoning') {
      const thought = item.summary.map((part: Json) => part.text).join('')
      const seal = item.encrypted_content
      reader.add('model', { thoughts: [{ text: thought, ...(seal !== undefined && { seal }) }] })
    } else {
      reader.add(item.role === 'user' ? 'user' : 'model', { text: text(item.content), images: images(item.content) })
    }
  }
  return reader.turns
}

function parts(content: Json): readonly Json[] {
  return typeof content === 'string' ? [{ type: 'input_text', text: content }] : content
}

function text(content: Json): string {
  return parts(content)
    .map(part => (part.type === 'input_text' || part.type === 'output_text' ? part.text : ''))
    .join('')
}

function images(content: Json) {
  return parts(content).flatMap(part => (part.type === 'input_image' ? readImageUrl(part.image_url) : []))
}
