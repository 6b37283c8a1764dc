import type { CallEvent, PartOpening } from '#core/call-event.ts'
import { isObject } from '../json/parse.ts'
import { decodeCitations, decodeExtras, FORMAT } from './decode-block.ts'

type Json = Readonly<Record<string, unknown>>

/** The block under way. */
export interface OpenBlock {
  readonly index: unknown
  readonly part: number
  /** The block as it began; an opaque one gathers here, since it is given on whole. */
  readonly block: Json
  readonly kind: PartOpening['kind']
  hasText: boolean
  signature: string
  readonly citations: unknown[]
  input: string
  readonly gathered: Record<string, unknown>
}

type BlockStart = (
  block: Json,
  id: string,
) => { readonly opening: PartOpening; readonly text?: unknown; readonly fields: string[] }

/** How each type of block begins; all others are opaque. */
const BLOCKS: Readonly<Record<string, BlockStart>> = Object.freeze<Record<string, BlockStart>>({
  text: block => ({ opening: { kind: 'text' }, text: block.text, fields: ['text', 'citations'] }),
  thinking: block => ({ opening: { kind: 'reasoning' }, text: block.thinking, fields: ['thinking', 'signature'] }),
  redacted_thinking: () => ({ opening: { kind: 'reasoning' }, fields: ['data'] }),
  tool_use: (block, missingId) => ({
    opening: {
      kind: 'tool-call',
      id: typeof block.id === 'string' && block.id !== '' ? block.id : missingId,
      name: typeof block.name === 'string' ? block.name : '',
      toolKind: 'function',
    },
    fields: ['id', 'name', 'input'],
  }),
})

/** @param missingId what a tool call is known by when the upstream has not named it */
export function openBlock(event: Json, part: number, missingId: string): { open: OpenBlock; events: CallEvent[] } {
  const block = isObject(event.content_block) ? event.content_block : {}
  const type = String(block.type)
  const describe = Object.hasOwn(BLOCKS, type) ? BLOCKS[type] : undefined
  const described = describe?.(block, missingId)
  const open: OpenBlock = {
    index: event.index,
    part,
    block,
    kind: described?.opening.kind ?? 'whole',
    hasText: false,
    signature: typeof block.signature === 'string' ? block.signature : '',
    citations: Array.isArray(block.citations) ? [...block.citations] : [],
    input: '',
    gathered: {},
  }
  // An opaque part is told when it is whole.
  if (!described) return { open, events: [] }
  const { citations: _, ...rest } = block
  const { extensions } = decodeExtras(rest, described.fields)
  const start: CallEvent = {
    type: 'part-start',
    choice: 0,
    part,
    ...described.opening,
    ...(extensions && { extensions }),
  }
  return { open, events: [start, ...partDelta(open, described.text)] }
}

function partDelta(open: OpenBlock, text: unknown): CallEvent[] {
  if (typeof text !== 'string' || text === '') return []
  open.hasText = true
  return [{ type: 'part-delta', choice: 0, part: open.part, text }]
}

type Delta = (open: OpenBlock, delta: Json) => CallEvent[]

/** What each delta adds to a part of the kind that it belongs to. */
const DELTAS: Readonly<Record<string, readonly [kind: PartOpening['kind'], decode: Delta]>> = Object.freeze({
  text_delta: ['text', (open, delta) => partDelta(open, delta.text)],
  thinking_delta: ['reasoning', (open, delta) => partDelta(open, delta.thinking)],
  input_json_delta: ['tool-call', (open, delta) => partDelta(open, delta.partial_json)],
  signature_delta: [
    'reasoning',
    (open, delta) => {
      if (typeof delta.signature === 'string') open.signature += delta.signature
      return []
    },
  ],
  citations_delta: [
    'text',
    (open, delta) => {
      open.citations.push(delta.citation)
      return []
    },
  ],
})

/** What a `content_block_delta` adds to the block under way. */
export function decodeDelta(open: OpenBlock, delta: Json): CallEvent[] {
  if (open.kind === 'whole') return gather(open, delta)
  const known = typeof delta.type === 'string' && Object.hasOwn(DELTAS, delta.type) ? DELTAS[delta.type] : undefined
  if (known?.[0] !== open.kind) return []
  return known[1](open, delta)
}

/** A block that is unknown here grows as all others do: text is added to, anything else replaced. */
function gather(open: OpenBlock, { type, ...fields }: Json): CallEvent[] {
  if (type === 'input_json_delta' && typeof fields.partial_json === 'string') {
    open.input += fields.partial_json
    return []
  }
  for (const [field, value] of Object.entries(fields)) {
    const before = open.gathered[field] ?? open.block[field]
    open.gathered[field] = typeof before === 'string' && typeof value === 'string' ? before + value : value
  }
  return []
}

/** The events that complete the block. */
export function endBlock(open: OpenBlock): CallEvent[] {
  return CLOSINGS[open.kind]?.(open) ?? [{ type: 'part-end', choice: 0, part: open.part }]
}

const CLOSINGS: Readonly<Partial<Record<PartOpening['kind'], (open: OpenBlock) => CallEvent[]>>> = Object.freeze({
  text: open => {
    const end = { type: 'part-end', choice: 0, part: open.part } as const
    if (open.citations.length === 0) return [end]
    const extensions = { [FORMAT]: { citations: open.citations } }
    return [{ ...end, ...decodeCitations(open.citations), extensions }]
  },
  reasoning: ({ part, signature, block }) => {
    const isRedacted = block.type === 'redacted_thinking' && typeof block.data === 'string'
    const seals = { ...(signature !== '' && { signature }), ...(isRedacted && { encrypted: String(block.data) }) }
    return [{ type: 'part-end', choice: 0, part, ...seals }]
  },
  'tool-call': open => {
    // Arguments that never came in fragments stood in the block, or there are none.
    const whole = open.hasText ? [] : partDelta(open, JSON.stringify(open.block.input ?? {}))
    return [...whole, { type: 'part-end', choice: 0, part: open.part }]
  },
  whole: open => {
    const { part, block, gathered } = open
    const input = open.input === '' ? {} : { input: parseInput(open.input) }
    const at = { choice: 0, part }
    const value = { type: 'opaque', format: FORMAT, value: { ...block, ...gathered, ...input } } as const
    return [
      { type: 'part-start', ...at, kind: 'whole', value },
      { type: 'part-end', ...at },
    ]
  },
})

function parseInput(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
