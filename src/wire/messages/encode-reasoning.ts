import type { Call, ReasoningControl } from '#core/call.ts'
import type { Target } from '#core/work.ts'
import { FORMAT } from './decode-block.ts'
import { lacksThought } from './encode-conversation.ts'

type Json = Readonly<Record<string, unknown>>

/** What an answer may take without a word from the client or the catalogue: every model of the vendor allows it. */
const OUTPUT_TOKENS_DEFAULT = 4_096

/** The API's smallest budget. */
const BUDGET_TOKENS_MIN = 1_024

/** Parts of what the model can say that its thinking may take, for upstreams that know no effort. */
const BUDGET_SHARES: Readonly<Record<string, number>> = Object.freeze({
  minimal: 0.02,
  low: 0.1,
  medium: 0.3,
  high: 0.6,
  xhigh: 0.9,
  max: 0.95,
})

export interface Reasoning {
  readonly maxTokens: number
  /** `undefined`: nothing is said of it. */
  readonly thinking: Json | undefined
  readonly effort: string | undefined
  /** Thinking limits what else may be asked for. */
  readonly isThinking: boolean
}

/** How much the model may say and how it is to think: this format counts thinking as part of what is said. */
export function encodeReasoning(call: Call, target: Target, lacks: (thing: string) => void): Reasoning {
  const wanted = wantedThinking(call, target)
  const maxTokens = encodeMaxTokens(call, target, wanted.budgetTokens)
  const fitting = fitThinking(wanted, maxTokens)
  if (wanted.thinking !== undefined && fitting === undefined) lacks('a reasoning budget above max_tokens')
  const refusal = fitting && isOn(fitting) ? whyNotToThink(call) : undefined
  if (refusal) lacks(refusal)
  const thinking = refusal ? { type: 'disabled' } : fitting
  return { maxTokens, thinking, effort: wanted.effort, isThinking: thinking !== undefined && isOn(thinking) }
}

interface Wanted {
  readonly thinking: Json | undefined
  readonly budgetTokens: number | undefined
  readonly effort: string | undefined
}

function wantedThinking({ reasoning, maxOutputTokens, extensions }: Call, target: Target): Wanted {
  const own = extensions[FORMAT] ?? {}
  const effort = encodeEffort(reasoning)
  const isBudgeted = target.quirks.reasoningBudget === true
  const budgetTokens =
    reasoning?.budgetTokens ?? (isBudgeted ? budgetOf(reasoning, maxOutputTokens, target) : undefined)
  const keptEffort = isBudgeted ? undefined : effort
  if (own.thinking) return { thinking: own.thinking as Json, budgetTokens, effort: keptEffort }
  if (reasoning?.effort === 'none')
    return { thinking: { type: 'disabled' }, budgetTokens: undefined, effort: undefined }
  if (budgetTokens !== undefined) {
    return { thinking: { type: 'enabled', budget_tokens: budgetTokens }, budgetTokens, effort: keptEffort }
  }
  // An effort that came without thinking goes on without it.
  const isPlainEffort = typeof (own.output_config as Json | undefined)?.effort === 'string'
  const thinking = keptEffort === undefined || isPlainEffort ? undefined : { type: 'adaptive' }
  return { thinking, budgetTokens, effort: keptEffort }
}

function encodeEffort(reasoning: ReasoningControl | undefined): string | undefined {
  if (reasoning?.effort === undefined || reasoning.effort === 'none') return undefined
  return reasoning.effort === 'minimal' ? 'low' : reasoning.effort
}

function budgetOf(reasoning: ReasoningControl | undefined, maxOutputTokens: number | undefined, target: Target) {
  const share = BUDGET_SHARES[reasoning?.effort ?? '']
  if (share === undefined) return undefined
  const total = target.limits?.maxOutputTokens ?? maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT
  return Math.max(BUDGET_TOKENS_MIN, Math.round(total * share))
}

/**
 * The API wants a maximum: the client's own, or what the model can say. The client's stays what it is when thinking
 * has a budget beside it, since it is also the bound of what the call may cost.
 */
function encodeMaxTokens(call: Call, { limits }: Target, budgetTokens: number | undefined): number {
  const wanted = call.maxOutputTokens ?? limits?.maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT + (budgetTokens ?? 0)
  return Math.min(wanted, limits?.maxOutputTokens ?? wanted)
}

/** A budget must leave room for an answer. */
function fitThinking({ thinking }: Wanted, maxTokens: number): Json | undefined {
  const budget = thinking?.budget_tokens
  if (typeof budget !== 'number') return thinking
  const fitting = Math.max(BUDGET_TOKENS_MIN, Math.min(budget, maxTokens - 1))
  if (fitting >= maxTokens) return undefined
  return fitting === budget ? thinking : { ...thinking, budget_tokens: fitting }
}

function isOn(thinking: Json): boolean {
  return thinking.type !== 'disabled'
}

/** Where the API refuses a request that thinks, the request goes on without thinking. */
function whyNotToThink(call: Call): string | undefined {
  const mode = call.toolChoice?.mode
  const isForced =
    mode === 'required' || mode === 'tool' || (call.toolChoice?.mode === 'subset' && call.toolChoice.isRequired)
  if (isForced) return 'reasoning before a forced tool call'
  if (lacksThought(call.messages)) return 'reasoning after a tool call without its thought'
  return undefined
}
