import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { ChatCompletionRequest, ContentWithToolCallsResponse, Fixture, FixtureResponse } from '@copilotkit/aimock'
import { jsonSchema, type ToolSet, tool } from 'ai'

/**
 * A small job for a coding agent: tools over a real folder, and the model that does it, as fixtures. The model goes on
 * only when the tools' results have reached it word for word, so an answer at the end proves every step before.
 */
export const PROMPT = 'How much fruit is there? Write the sum to total.txt.'
export const MISSING_FILE_PROMPT = 'What does plums.txt say?'

export const THOUGHT = 'I do not know this folder yet.'
export const OPENING = 'Let me look.'
export const ANSWER = 'Three and four make seven: total.txt says so now.'
export const SORRY = 'There is no such file, I am sorry.'
export const TOTAL = 'Σ: seven pieces of fruit,\n"apples" & pears\n'

/** Small enough to cut words, arguments and characters of two bytes apart. */
const CHUNK_CHARACTERS = 7

const FILES: Readonly<Record<string, string>> = {
  'apples.txt': 'three apples\n',
  'pears.txt': 'four pears – «Äpfel» sold out\n',
}

/** Tokens of each step, all different, so that none can stand for another. */
export const STEP_TOKENS = [
  { input: 100, output: 11 },
  { input: 210, output: 22 },
  { input: 330, output: 33 },
  { input: 470, output: 44 },
] as const

export class CodingFolder implements AsyncDisposable {
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async create(): Promise<CodingFolder> {
    const folder = await mkdtemp(path.join(tmpdir(), 'tollgate-agent-'))
    for (const [name, text] of Object.entries(FILES)) await writeFile(path.join(folder, name), text)
    return new CodingFolder(folder)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true })
  }

  read(name: string): Promise<string> {
    return readFile(path.join(this.#folder, name), 'utf8')
  }

  /** What the agent may do here. */
  tools(): ToolSet {
    return {
      list_files: tool({
        description: 'The names of the files',
        inputSchema: jsonSchema<Record<string, never>>({ type: 'object', properties: {}, additionalProperties: false }),
        execute: async () => ({ names: (await readdir(this.#folder)).toSorted() }),
      }),
      read_file: tool({
        description: 'What a file says',
        inputSchema: jsonSchema<{ name: string }>(objectOfStrings('name')),
        execute: ({ name }) => this.read(name),
      }),
      write_file: tool({
        description: 'Makes a file say something',
        inputSchema: jsonSchema<{ name: string; text: string }>(objectOfStrings('name', 'text')),
        execute: async ({ name, text }) => {
          await writeFile(path.join(this.#folder, name), text)
          return `${name} is written`
        },
      }),
    }
  }
}

function objectOfStrings(...names: readonly string[]) {
  const properties = Object.fromEntries(names.map(name => [name, { type: 'string' as const }]))
  return { type: 'object' as const, properties, required: [...names], additionalProperties: false }
}

/** The model's side: the first fixture that matches answers, so the last step stands first. */
export const FIXTURES: readonly Fixture[] = [
  step(3, { 'total.txt': 'total.txt is written' }, { content: ANSWER }),
  step(2, FILES, {
    toolCalls: [call('write_file', { name: 'total.txt', text: TOTAL })],
  }),
  step(
    1,
    { '{}': '"apples.txt","pears.txt"' },
    {
      content: 'I read both.',
      toolCalls: Object.keys(FILES).map(name => call('read_file', { name })),
    },
  ),
  step(0, {}, { content: OPENING, reasoning: THOUGHT, toolCalls: [call('list_files', {})] }),
  says(MISSING_FILE_PROMPT, { 'plums.txt': 'ENOENT' }, { content: SORRY }),
  says(MISSING_FILE_PROMPT, {}, { toolCalls: [call('read_file', { name: 'plums.txt' })] }),
]

/** What tools have said, by what the arguments of their calls contain. */
type Results = Readonly<Record<string, string>>

type Spoken = Pick<ContentWithToolCallsResponse, 'content' | 'reasoning' | 'toolCalls' | 'usage'>

function call(name: string, input: Readonly<Record<string, unknown>>): { name: string; arguments: string } {
  return { name, arguments: JSON.stringify(input) }
}

function step(index: number, results: Results, spoken: Spoken): Fixture {
  const { input, output } = STEP_TOKENS[index] ?? STEP_TOKENS[0]
  return says(PROMPT, results, { ...spoken, usage: { input_tokens: input, output_tokens: output } })
}

/** What the model says to `prompt` as soon as it has all of `results`. */
function says(prompt: string, results: Results, spoken: Spoken): Fixture {
  return {
    match: { predicate: request => asked(request, prompt) && hasResults(request, results) },
    response: ({ model }) => ({ ...spoken, ...finishAt(model) }) as FixtureResponse,
    chunkSize: CHUNK_CHARACTERS,
  }
}

/** aimock ends a candidate that has calls with `FUNCTION_CALL`; Google has no such word and says `STOP`. */
function finishAt(model: string): { finishReason?: 'stop' } {
  return model.includes('generate-content') ? { finishReason: 'stop' } : {}
}

function asked({ messages }: ChatCompletionRequest, prompt: string): boolean {
  return messages.some(({ role, content }) => role === 'user' && textOf(content).includes(prompt))
}

/** Whether each of `results` has come, and in answer to its own call: the closest one before it that has its id. */
function hasResults({ messages }: ChatCompletionRequest, results: Results): boolean {
  const answered = messages.flatMap(({ role, tool_call_id, content }, at) => {
    if (role !== 'tool') return []
    const calls = messages.slice(0, at).flatMap(({ tool_calls = [] }) => tool_calls)
    const input = calls.findLast(({ id }) => id === tool_call_id)?.function.arguments ?? ''
    return [{ input, text: textOf(content) }]
  })
  return Object.entries(results).every(([input, text]) =>
    answered.some(each => each.input.includes(input) && tells(each.text, text)),
  )
}

/** Formats differ in whether a result is text or a value. */
function tells(said: string, text: string): boolean {
  return said.includes(text) || said.includes(JSON.stringify(text).slice(1, -1))
}

/** Whether the model was shown what it had said itself. */
export function remembers(request: ChatCompletionRequest, text: string): boolean {
  return request.messages.some(({ role, content }) => role === 'assistant' && textOf(content).includes(text))
}

function textOf(content: ChatCompletionRequest['messages'][number]['content']): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(({ text = '' }) => text).join('')
}
