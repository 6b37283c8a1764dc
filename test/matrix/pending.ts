import type { Format } from './conversation.ts'

/** Pairs of formats in which a case must hold and does not yet: they run, and fail without failing the whole. */
interface Pending {
  readonly of: string
  readonly why: string
  /** Upstreams by client. */
  readonly pairs: Readonly<Partial<Record<Format, readonly Format[]>>>
}

const NO_SEALER = 'the neutral form does not know who sealed a thought'

const PENDING: readonly Pending[] = [
  {
    of: 'thinking in a tool loop',
    why: 'a seal does not come back from a client of another format',
    pairs: {
      'chat-completions': ['messages', 'responses', 'generate-content'],
      messages: ['responses', 'generate-content'],
      'generate-content': ['responses'],
    },
  },
  {
    of: 'redacted thinking in a tool loop',
    why: 'a seal does not come back from a client of another format',
    pairs: { 'chat-completions': ['messages'], 'generate-content': ['messages'] },
  },
  {
    of: 'thinking in a tool loop',
    why: '`include` and `reasoning.summary` are named as left out although they are honoured',
    pairs: { responses: ['chat-completions', 'messages', 'generate-content'] },
  },
  {
    of: 'redacted thinking in a tool loop',
    why: '`include` and `reasoning.summary` are named as left out although they are honoured',
    pairs: { responses: ['messages'] },
  },
  {
    of: 'thinking of messages taken elsewhere',
    why: NO_SEALER,
    pairs: {
      'chat-completions': ['chat-completions', 'responses', 'generate-content'],
      messages: ['chat-completions', 'generate-content'],
      responses: ['chat-completions', 'responses', 'generate-content'],
      'generate-content': ['chat-completions', 'generate-content'],
    },
  },
  {
    of: 'thinking of responses taken elsewhere',
    why: NO_SEALER,
    pairs: {
      'chat-completions': ['chat-completions', 'generate-content'],
      messages: ['chat-completions', 'messages', 'generate-content'],
      responses: ['chat-completions'],
      'generate-content': ['chat-completions', 'generate-content'],
    },
  },
  {
    of: 'thinking of generate-content taken elsewhere',
    why: NO_SEALER,
    pairs: {
      'chat-completions': ['chat-completions', 'responses'],
      messages: ['chat-completions', 'messages', 'responses'],
      responses: ['chat-completions', 'responses'],
      'generate-content': ['chat-completions'],
    },
  },
  {
    of: 'nothing stored',
    why: '`store: false` is named as left out although nothing is stored',
    pairs: {
      'chat-completions': ['messages', 'responses', 'generate-content'],
      responses: ['chat-completions', 'messages', 'generate-content'],
    },
  },
]

/** Why a case does not hold yet between two formats; `undefined`: it does. */
export function pendingReason(of: string, client: Format, upstream: Format): string | undefined {
  return PENDING.find(each => each.of === of && each.pairs[client]?.includes(upstream))?.why
}
