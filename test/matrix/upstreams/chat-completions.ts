import { readImageUrl, TurnReader } from './asked.ts'
import type { Dialect, Json } from './dialect.ts'

export const chatCompletions: Dialect = {
  format: 'chat-completions',
  provider: 'openai',
  basePath: '/v1',
  path: /^\/v1\/chat\/completions$/,
  read: body => {
    const [first, ...rest] = body.messages
    return {
      model: body.model,
      isStream: body.stream === true,
      system: first.role === 'system' ? text(first.content) : undefined,
      turns: readTurns(first.role === 'system' ? rest : body.messages),
      tools: body.tools?.map(({ function: { strict: _, ...tool } }: Json) => tool),
      toolChoice: body.tool_choice?.function ?? body.tool_choice,
      schema: body.response_format?.json_schema?.schema,
      stop: body.stop,
      effort: body.reasoning_effort,
      maxTokens: body.max_completion_tokens,
    }
  },
}

function readTurns(messages: readonly Json[]) {
  const reader = new TurnReader()
  for (const { role, content, tool_calls, tool_call_id, reasoning_content } of messages) {
    if (role === 'tool') reader.add('user', { results: [reader.result(tool_call_id, text(content))] })
    else if (role === 'user') reader.add('user', { text: text(content), images: images(content) })
    else {
      const calls = (tool_calls ?? []).map(({ id, function: { name, arguments: json } }: Json) =>
        reader.call(id, { name, arguments: JSON.parse(json) }),
      )
      reader.add('model', {
        text: text(content),
        calls,
        thoughts: reasoning_content ? [{ text: reasoning_content }] : [],
      })
    }
  }
  return reader.turns
}

function parts(content: Json): readonly Json[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
}

function text(content: Json): string {
  return parts(content)
    .map(part => (part.type === 'text' ? part.text : ''))
    .join('')
}

function images(content: Json) {
  return parts(content).flatMap(part => (part.type === 'image_url' ? readImageUrl(part.image_url.url) : []))
}
