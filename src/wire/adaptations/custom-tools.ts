import type { Call, Grammar, Part, Tool, ToolCallPart } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import type { Result } from '#core/result.ts'
import type { Adapt, EventAdapter } from '../adaptation.ts'
import type { FormatName } from '../format.ts'
import { TextMemberReader } from '../json/text-member.ts'
import { mapParts } from './map-parts.ts'

type CustomTool = Extract<Tool, { kind: 'custom' }>

/** Formats in which tools may take free text. */
const NATIVE: ReadonlySet<FormatName> = new Set<FormatName>(['chat-completions', 'responses'])

/** The one argument of the function that stands for a custom tool. */
const ARGUMENT = 'input'

/**
 * Where tools take JSON only, one that takes free text is a function with the text for its one argument: its calls of
 * the conversation so far become calls of that function, and those of the answer become free text again.
 */
export const adaptCustomTools: Adapt = (call, { upstream, quirks }) => {
  if (NATIVE.has(upstream) && quirks.customTools !== false) return { call }
  const names = new Set((call.tools ?? []).flatMap(tool => (tool.kind === 'custom' ? tool.name : [])))
  const adapted: Call = { ...mapParts(call, toFunctionCall), tools: call.tools?.map(toFunction) }
  if (names.size === 0) return { call: adapted }
  return {
    call: adapted,
    adaptResult: result => mapCalls(result, part => (names.has(part.name) ? toCustomCall(part) : part)),
    adaptEvents: () => toCustomEvents(names),
  }
}

function toFunction(tool: Tool): Tool {
  if (tool.kind !== 'custom') return tool
  const { name, cache, extensions } = tool
  const text = { type: 'string', description: 'The whole text that the tool is given, as it is' }
  return {
    kind: 'function',
    name,
    description: describe(tool),
    parameters: { type: 'object', properties: { [ARGUMENT]: text }, required: [ARGUMENT], additionalProperties: false },
    ...(cache && { cache }),
    ...(extensions && { extensions }),
  }
}

function describe({ description, grammar }: CustomTool): string {
  const usage = `This tool takes free text. Give it, whole and not wrapped in anything, as \`${ARGUMENT}\`.`
  return [description, usage, grammar && describeGrammar(grammar)].filter(each => each !== undefined).join('\n\n')
}

function describeGrammar({ syntax, definition }: Grammar): string {
  const kind = syntax === 'regex' ? 'regular expression' : `${syntax} grammar`
  return `The text must match this ${kind}:\n\n${definition}`
}

function toFunctionCall(part: Part): Part {
  if (part.type !== 'tool-call' || part.kind !== 'custom') return part
  return { ...part, kind: 'function', arguments: JSON.stringify({ [ARGUMENT]: part.arguments }) }
}

function mapCalls(result: Result, map: (part: ToolCallPart) => Part): Result {
  const choices = result.choices.map(choice => ({
    ...choice,
    parts: choice.parts.map(part => (part.type === 'tool-call' ? map(part) : part)),
  }))
  return { ...result, choices }
}

function toCustomCall(part: ToolCallPart): ToolCallPart {
  const reader = new TextMemberReader(ARGUMENT)
  return { ...part, kind: 'custom', arguments: reader.push(part.arguments) + reader.end() }
}

/** The text is unescaped as it arrives: a stream never waits for a call's end. */
function toCustomEvents(names: ReadonlySet<string>): EventAdapter {
  const readers = new Map<number, TextMemberReader>()
  return event => {
    if (event.type === 'part-start' && event.kind === 'tool-call' && names.has(event.name)) {
      readers.set(event.choice, new TextMemberReader(ARGUMENT))
      return [{ ...event, toolKind: 'custom' }]
    }
    const reader = 'choice' in event ? readers.get(event.choice) : undefined
    if (!reader) return [event]
    if (event.type === 'part-delta') return withText(event, reader.push(event.text))
    if (event.type !== 'part-end') return [event]
    readers.delete(event.choice)
    const { choice, part } = event
    return [...withText({ type: 'part-delta', choice, part, text: '' }, reader.end()), event]
  }
}

function withText(delta: Extract<CallEvent, { type: 'part-delta' }>, text: string): CallEvent[] {
  return text === '' ? [] : [{ ...delta, text }]
}
