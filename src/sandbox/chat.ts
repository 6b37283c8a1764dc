import type { ChatCompletionRequest, FixtureResponse } from '@copilotkit/aimock'
import { sampleValue } from './sample.ts'
import { speak } from './speech.ts'
import { countTokens, truncate } from './tokens.ts'

const TOKENS_PER_MESSAGE = 4
const TOKENS_MAX = 16_384

/** The sandbox's turn in a conversation: a tool call, JSON of the asked shape, or words; with its tokens counted. */
export async function answerChat(request: ChatCompletionRequest): Promise<FixtureResponse> {
  const promptTokens = await countPrompt(request)
  const call = toolCall(request)
  if (call) {
    const usage = { prompt_tokens: promptTokens, completion_tokens: await countTokens(call.name + call.arguments) }
    return { toolCalls: [call], usage }
  }
  const wanted = request.max_completion_tokens ?? request.max_tokens
  const { text, tokens, isCut } = await truncate(say(request), typeof wanted === 'number' ? wanted : TOKENS_MAX)
  const usage = { prompt_tokens: promptTokens, completion_tokens: tokens }
  return { content: text, usage, ...(isCut && { finishReason: 'length' }) }
}

async function countPrompt({ messages, tools }: ChatCompletionRequest): Promise<number> {
  const texts = messages.map(message => textOf(message.content) + JSON.stringify(message.tool_calls ?? ''))
  return (await countTokens(texts.join('\n') + JSON.stringify(tools ?? ''))) + messages.length * TOKENS_PER_MESSAGE
}

function say({ messages, response_format: format }: ChatCompletionRequest): string {
  const last = messages.at(-1)
  const question = questionOf(messages)
  if (format?.type === 'json_schema') {
    const { schema } = (format.json_schema ?? {}) as { schema?: unknown }
    return JSON.stringify(sampleValue(schema, question))
  }
  if (format?.type === 'json_object') return speak('json')
  if (last?.role === 'tool') return `The tool answered: ${textOf(last.content)}. That is what the sandbox makes of it.`
  return speak(question)
}

function questionOf(messages: ChatCompletionRequest['messages']): string {
  return textOf(messages.findLast(message => message.role === 'user')?.content ?? '')
}

/** A tool is called when the last word was the user's and the request offers one that fits, or insists. */
function toolCall(request: ChatCompletionRequest): { name: string; arguments: string } | undefined {
  const { messages, tools = [], tool_choice: choice } = request
  if (tools.length === 0 || choice === 'none' || messages.at(-1)?.role === 'tool') return undefined
  const forced = typeof choice === 'object' ? (choice as { function?: { name?: string } }).function?.name : undefined
  const question = questionOf(messages)
  const tool = forced
    ? tools.find(each => each.function?.name === forced)
    : (tools.find(each => isAbout(question, each.function)) ?? (choice === 'required' ? tools[0] : undefined))
  if (!tool?.function) return undefined
  return {
    name: tool.function.name,
    arguments: JSON.stringify(sampleValue(tool.function.parameters ?? { type: 'object' }, question)),
  }
}

/** Whether a question shares a word of some length with a tool's name or description. */
function isAbout(question: string, tool: { name: string; description?: string } | undefined): boolean {
  const words = (text: string) => text.toLowerCase().match(/[a-z]{4,}/g) ?? []
  const known = new Set(words(`${tool?.name.replaceAll('_', ' ')} ${tool?.description ?? ''}`))
  return words(question).some(word => known.has(word))
}

function textOf(content: ChatCompletionRequest['messages'][number]['content']): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(part => part.text ?? '').join(' ')
}
