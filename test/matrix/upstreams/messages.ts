import type { Image } from '../conversation.ts'
import { TurnReader } from './asked.ts'
import type { Dialect, Json } from './dialect.ts'

export const messages: Dialect = {
  format: 'messages',
  provider: 'anthropic',
  basePath: '/v1',
  path: /^\/v1\/messages$/,
  read: body => ({
    model: body.model,
    isStream: body.stream === true,
    system: body.system === undefined ? undefined : text(blocks(body.system)),
    turns: readTurns(body.messages),
    tools: body.tools?.map(({ input_schema: parameters, strict: _, ...tool }: Json) => ({ ...tool, parameters })),
    toolChoice: body.tool_choice && readToolChoice(body.tool_choice),
    schema: body.output_config?.format?.schema,
    stop: body.stop_sequences,
    effort: body.output_config?.effort,
    maxTokens: body.max_tokens,
  }),
}

function readToolChoice({ type, name }: Json) {
  if (type === 'tool') return { name }
  return type === 'any' ? 'required' : type
}

function readTurns(turns: readonly Json[]) {
  const reader = new TurnReader()
  for (const { role, content } of turns) {
    const all = blocks(content)
    const of = (...types: string[]) => all.filter(({ type }) => types.includes(type))
    reader.add(role === 'user' ? 'user' : 'model', {
      text: text(all),
      images: of('image').map(({ source }) => readSource(source)),
      thoughts: of('thinking', 'redacted_thinking').map(({ thinking = '', signature, data }) => ({
        text: thinking,
        seal: signature ?? data,
      })),
      calls: of('tool_use').map(({ id, name, input }) => reader.call(id, { name, arguments: input })),
      results: of('tool_result').map(block => reader.result(block.tool_use_id, text(blocks(block.content)))),
    })
  }
  return reader.turns
}

function readSource({ type, url, media_type: mediaType, data }: Json): Image {
  return type === 'url' ? { kind: 'url', url } : { kind: 'base64', mediaType, data }
}

function blocks(content: Json): readonly Json[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

function text(all: readonly Json[]): string {
  return all.map(block => (block.type === 'text' ? block.text : '')).join('')
}
