import type { Call, ReasoningControl } from '#core/call.ts'
import type { Target } from '#core/work.ts'
import { budgetOfEffort } from '../reasoning-budget.ts'
import { FORMAT } from './decode-block.ts'
import { lacksThought } from './encode-conversation.ts'

type Json = Readonly<Record<string, unknown>>

/** What an answer may take without a word from the client or the catalogue: every model of the vendor allows it. */
const OUTPUT_TOKENS_DEFAULT = 4_096

/** The API's smallest budget. */
const BUDGET_TOKENS_MIN = 1_024

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
  const display = encodeDisplay(reasoning?.isShown)
  if (own.thinking) return { thinking: own.thinking as Json, budgetTokens, effort: keptEffort }
  if (reasoning?.effort === 'none')
    return { thinking: { type: 'disabled' }, budgetTokens: undefined, effort: undefined }
  if (budgetTokens !== undefined) {
    const thinking = { type: 'enabled', budget_tokens: budgetTokens, ...display }
    return { thinking, budgetTokens, effort: keptEffort }
  }
  // An effort that came without thinking goes on without it.
  const isPlainEffort = typeof (own.output_config as Json | undefined)?.effort === 'string'
  const thinking = keptEffort === undefined || isPlainEffort ? undefined : { type: 'adaptive', ...display }
  return { thinking, budgetTokens, effort: keptEffort }
}

/** What a model shows when nothing is said of it differs from one to the next. */
function encodeDisplay(isShown: boolean | undefined): Json {
  return isShown === undefined ? {} : { display: isShown ? 'summarized' : 'omitted' }
}

function encodeEffort(reasoning: ReasoningControl | undefined): string | undefined {
  if (reasoning?.effort === undefined || reasoning.effort === 'none') return undefined
  return reasoning.effort === 'minimal' ? 'low' : reasoning.effort
}

function budgetOf(reasoning: ReasoningControl | undefined, maxOutputTokens: number | undefined, target: Target) {
  const total = target.limits?.maxOutputTokens ?? maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT
  const budget = budgetOfEffort(reasoning?.effort, total)
  return budget === undefined ? undefined : Math.max(BUDGET_TOKENS_MIN, budget)
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
  const last = call.messages.at(-1)
  // An answer that paused for a tool of the provider's own goes on thinking.
  if (last?.role === 'assistant' && last.parts.at(-1)?.type === 'text') return 'reasoning in the middle of an answer'
  if (lacksThought(call.messages)) return 'reasoning after a tool call without its thought'
  return undefined
}
