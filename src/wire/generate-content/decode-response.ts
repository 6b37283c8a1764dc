import type { Part, UrlCitation } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import type { Choice, Result, TokenLogprob } from '#core/result.ts'
import { isObject } from '../json/parse.ts'
import { callIdOf, decodeCitations, decodePart, FORMAT, type Json, joinPieces } from './decode-parts.ts'
import { encodeCitations } from './encode-parts.ts'
import { decodeFault } from './fault.ts'
import { decodeBlock, decodeFinish } from './finish-reason.ts'
import { decodeUsage } from './usage.ts'

const KNOWN_FIELDS = new Set(['candidates', 'usageMetadata', 'modelVersion', 'responseId', 'createTime'])

/** upstream → neutral (see `WireFormat`). */
export function decodeResponse(body: unknown): Result {
  const answer = readAnswer(body)
  const { id, model, createdAt } = decodeHead(answer)
  const candidates = Array.isArray(answer.candidates) ? answer.candidates.filter(isObject) : []
  const extensions = decodeExtensions(answer, candidates)
  return {
    id,
    model,
    createdAt,
    choices: candidates.length === 0 ? [emptyChoice(answer)] : candidates.map((c, i) => decodeCandidate(c, i, id)),
    usage: decodeUsage(answer.usageMetadata),
    extensions: Object.keys(extensions).length === 0 ? {} : { [FORMAT]: extensions },
  }
}

/** @throws Fault when a success status carries an error or nonsense */
export function readAnswer(body: unknown): Json {
  const [first] = Array.isArray(body) ? body : [body]
  if (isObject(first) && isObject(first.error)) throw decodeFault(200, first)
  // An answer may lack candidates when the prompt was blocked, or when the model had nothing to say.
  if (
    isObject(body) &&
    (Array.isArray(body.candidates) || isObject(body.promptFeedback) || isObject(body.usageMetadata))
  )
    return body
  throw new Fault('upstream_error', 'The model provider sent an answer that is no generated content.', { cause: body })
}

/** What every chunk of a stream says as well. */
export function decodeHead(answer: Json): { id: string; model: string; createdAt: number } {
  const created = typeof answer.createTime === 'string' ? Date.parse(answer.createTime) : Number.NaN
  return {
    id: typeof answer.responseId === 'string' ? answer.responseId : '',
    model: typeof answer.modelVersion === 'string' ? answer.modelVersion : '',
    createdAt: Number.isFinite(created) ? Math.floor(created / 1000) : 0,
  }
}

/** Why the prompt was blocked, if it was: then there are no candidates. */
export function blockReason({ promptFeedback }: Json): string | undefined {
  if (!isObject(promptFeedback) || typeof promptFeedback.blockReason !== 'string') return undefined
  return promptFeedback.blockReason === '' ? undefined : promptFeedback.blockReason
}

function emptyChoice(answer: Json): Choice {
  const reason = blockReason(answer)
  return {
    index: 0,
    parts: [],
    finish: reason === undefined ? { reason: 'other', raw: undefined } : decodeBlock(reason),
  }
}

function decodeCandidate(candidate: Json, position: number, responseId: string): Choice {
  const index = typeof candidate.index === 'number' ? candidate.index : position
  let calls = 0
  const parts = wireParts(candidate).flatMap(part =>
    decodePart(part, () => callIdOf(responseId, index, calls)).map(each => {
      if (each.type === 'tool-call') calls += 1
      return each
    }),
  )
  const logprobs = decodeLogprobs(candidate.logprobsResult)
  return {
    index,
    parts: withCitations(joinPieces(parts, TEXTS), decodeCitations(candidate)),
    finish: decodeFinish(candidate.finishReason, { hasToolCalls: calls > 0 }),
    ...(logprobs && { logprobs }),
  }
}

const TEXTS: ReadonlySet<Part['type']> = new Set(['text', 'reasoning'])

/** A candidate without content says nothing, and is whole all the same. */
export function wireParts({ content }: Json): Json[] {
  return isObject(content) && Array.isArray(content.parts) ? content.parts.filter(isObject) : []
}

/** Citations belong to the last text; an answer without one gets an empty one that carries them. */
function withCitations(parts: Part[], citations: readonly UrlCitation[]): Part[] {
  if (citations.length === 0) return parts
  const last = parts.findLastIndex(part => part.type === 'text')
  const cited = parts[last]
  if (cited?.type !== 'text') return [...parts, { type: 'text', text: '', citations }]
  return parts.with(last, { ...cited, citations })
}

/** Tokens come without their bytes here. */
export function decodeLogprobs(value: unknown): TokenLogprob[] | undefined {
  if (!isObject(value) || !Array.isArray(value.chosenCandidates)) return undefined
  const top: unknown[] = Array.isArray(value.topCandidates) ? value.topCandidates : []
  return value.chosenCandidates.filter(isObject).map((chosen, i) => {
    const alternatives = top[i]
    const candidates = isObject(alternatives) ? alternatives.candidates : undefined
    return {
      ...decodeToken(chosen),
      top: Array.isArray(candidates) ? candidates.filter(isObject).map(decodeToken) : [],
    }
  })
}

function decodeToken(entry: Json): Omit<TokenLogprob, 'top'> {
  return {
    token: typeof entry.token === 'string' ? entry.token : '',
    logprob: typeof entry.logProbability === 'number' ? entry.logProbability : 0,
  }
}

const KNOWN_IN_CANDIDATE = new Set(['index', 'content', 'finishReason', 'logprobsResult'])

/** Fields without a neutral meaning; those of candidates by their place. */
function decodeExtensions(answer: Json, candidates: readonly Json[]): Record<string, unknown> {
  const extra = Object.entries(answer).filter(([key, value]) => !KNOWN_FIELDS.has(key) && value !== null)
  const inCandidates = candidates.map(candidate => {
    const isWholly = isWhollyCited(candidate)
    return Object.fromEntries(
      Object.entries(candidate).filter(
        ([key, value]) => !KNOWN_IN_CANDIDATE.has(key) && value !== null && !(isWholly && key === 'groundingMetadata'),
      ),
    )
  })
  const hasExtra = inCandidates.some(fields => Object.keys(fields).length > 0)
  return { ...Object.fromEntries(extra), ...(hasExtra && { candidates: inCandidates }) }
}

/** The citations say all that the metadata says, so it need not be kept beside them. */
function isWhollyCited(candidate: Json): boolean {
  const citations = decodeCitations(candidate)
  return (
    citations.length > 0 && JSON.stringify(encodeCitations(citations)) === JSON.stringify(candidate.groundingMetadata)
  )
}
