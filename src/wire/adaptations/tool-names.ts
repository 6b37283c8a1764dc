import type { Call, Part, ToolChoice } from '#core/call.ts'
import type { CallEvent } from '#core/call-event.ts'
import type { Result } from '#core/result.ts'
import type { Adapt } from '../adaptation.ts'
import type { FormatName } from '../format.ts'
import { mapParts, partsOf } from './map-parts.ts'
import { type Renamer, renamer } from './renamer.ts'

/** Names of tools as each upstream takes them (API references). MCP servers give longer ones, with dots and slashes. */
const ALLOWED: Readonly<Record<FormatName, RegExp>> = Object.freeze({
  'chat-completions': /^[A-Za-z0-9_-]{1,64}$/,
  responses: /^[A-Za-z0-9_-]{1,64}$/,
  messages: /^[A-Za-z0-9_-]{1,128}$/,
  'generate-content': /^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/,
})

/** With the underscore and the digits after it, a name that every format takes. */
const PREFIX_CHARACTERS = 51
const SEED_DIGITS = 12

/** A tool whose name the upstream would refuse has another one there, and its own again in the answer. */
export const adaptToolNames: Adapt = (call, { upstream }) => {
  const isAllowed = (name: string) => ALLOWED[upstream].test(name)
  const names = namesOf(call)
  if (names.every(isAllowed)) return { call }
  const { to, back } = renamer(names, isAllowed, shorten)
  return {
    call: renamed(call, to),
    adaptResult: result => mapResult(result, part => mapName(part, back)),
    adaptEvents: () => event => [restored(event, back)],
  }
}

function shorten(name: string, seed: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_-]/g, '_')
  const prefix = (/^[A-Za-z_]/.test(plain) ? plain : `_${plain}`).slice(0, PREFIX_CHARACTERS)
  return `${prefix}_${seed.slice(0, SEED_DIGITS)}`
}

/** Those of the tools first; the history may have calls of others. */
function namesOf(call: Call): string[] {
  const tools = (call.tools ?? []).flatMap(tool => (tool.kind === 'opaque' ? [] : tool.name))
  const called = partsOf(call).flatMap(part => nameOf(part) ?? [])
  return [...tools, ...chosenNames(call.toolChoice), ...called]
}

function nameOf(part: Part): string | undefined {
  return part.type === 'tool-call' || part.type === 'tool-result' ? part.name : undefined
}

function chosenNames(choice: ToolChoice | undefined): readonly string[] {
  if (choice?.mode === 'subset') return choice.names
  return choice?.mode === 'tool' ? [choice.name] : []
}

function renamed(call: Call, to: Renamer['to']): Call {
  return {
    ...mapParts(call, part => mapName(part, to)),
    tools: call.tools?.map(tool => (tool.kind === 'opaque' ? tool : { ...tool, name: to(tool.name) })),
    toolChoice: renamedChoice(call.toolChoice, to),
  }
}

function renamedChoice(choice: ToolChoice | undefined, to: Renamer['to']): ToolChoice | undefined {
  if (choice?.mode === 'tool') return { ...choice, name: to(choice.name) }
  return choice?.mode === 'subset' ? { ...choice, names: choice.names.map(to) } : choice
}

function mapName(part: Part, map: (name: string) => string): Part {
  const name = nameOf(part)
  return name === undefined ? part : ({ ...part, name: map(name) } as Part)
}

function mapResult(result: Result, map: (part: Part) => Part): Result {
  return { ...result, choices: result.choices.map(choice => ({ ...choice, parts: choice.parts.map(map) })) }
}

function restored(event: CallEvent, back: Renamer['back']): CallEvent {
  const isCall = event.type === 'part-start' && event.kind === 'tool-call'
  return isCall ? { ...event, name: back(event.name) } : event
}
