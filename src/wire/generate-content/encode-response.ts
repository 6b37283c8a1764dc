import type { Choice, Result, TokenLogprob } from '#core/result.ts'
import type { AnswerContext } from '../format.ts'
import { isObject } from '../json/parse.ts'
import { FORMAT } from './decode-parts.ts'
import { encodeCitations, encodeParts, type Json } from './encode-parts.ts'
import { encodeFinish } from './finish-reason.ts'
import { encodeUsage } from './usage.ts'

/** neutral → client (see `WireFormat`). */
export function encodeResponse(result: Result, context: AnswerContext): Json {
  const { candidates: extras, ...extra } = result.extensions[FORMAT] ?? {}
  const fields = Array.isArray(extras) ? extras : []
  return {
    ...(!isBlocked(result, extra) && {
      candidates: result.choices.map((choice, i) => encodeCandidate(choice, isObject(fields[i]) ? fields[i] : {})),
    }),
    ...(result.usage && { usageMetadata: encodeUsage(result.usage) }),
    ...encodeHead(result, context),
    ...extra,
  }
}

/** What every chunk of a stream says as well. */
export function encodeHead({ id, createdAt }: Pick<Result, 'id' | 'createdAt'>, { publicModel }: AnswerContext): Json {
  return {
    modelVersion: publicModel,
    ...(id !== '' && { responseId: id }),
    ...(createdAt > 0 && { createTime: new Date(createdAt * 1000).toISOString() }),
  }
}

/** A blocked prompt has feedback and no candidates. */
function isBlocked({ choices }: Result, { promptFeedback }: Json): boolean {
  const [only, ...others] = choices
  if (!only || others.length > 0 || only.parts.length > 0 || !isObject(promptFeedback)) return false
  return only.finish.reason === 'refusal' && only.finish.raw === promptFeedback.blockReason
}

/** Clients read the first part without asking, so there is one even when nothing was said. */
const NOTHING = [{ text: '' }]

export function encodeCandidate({ index, parts, finish, logprobs }: Choice, extra: Json): Json {
  // What the format cannot say is left out; an answer has nowhere to say so.
  const wire = encodeParts(parts, () => {})
  const citations = parts.flatMap(part => (part.type === 'text' ? (part.citations ?? []) : []))
  return {
    content: { role: 'model', parts: wire.length === 0 ? NOTHING : wire },
    finishReason: encodeFinish(finish),
    index,
    ...(citations.length > 0 && { groundingMetadata: encodeCitations(citations) }),
    ...(logprobs && { logprobsResult: encodeLogprobs(logprobs) }),
    ...extra,
  }
}

export function encodeLogprobs(logprobs: readonly TokenLogprob[]): Json {
  const encodeToken = ({ token, logprob }: Omit<TokenLogprob, 'top'>) => ({ token, logProbability: logprob })
  return {
    chosenCandidates: logprobs.map(encodeToken),
    topCandidates: logprobs.map(({ top }) => ({ candidates: top.map(encodeToken) })),
  }
}
