import type { Answer, Exchange, Target, Work } from '#core/work.ts'
import { type ChatRequestContext, upstreamFormat } from './chat.ts'
import type { CountingFormat, WireFormat } from './format.ts'
import { parseJsonObject, tryParse } from './json/parse.ts'
import { translateRequest } from './translate.ts'

type Json = Readonly<Record<string, unknown>>

const ESTIMATE_WARNING = 'the count is an estimate, because no provider of this model counts tokens'

/**
 * A client's question how many tokens a chat request has. Free; an upstream that counts is asked in its own words, and
 * where none does the gateway's estimate has to do.
 *
 * @throws Fault `invalid_request` naming the field
 */
export function tokenCountWork(
  format: CountingFormat,
  bytes: Buffer,
  { given, headers = {} }: ChatRequestContext = {},
): Work {
  const { tokenCounting: counting } = format
  const body = counting.readRequest({ ...parseJsonObject(bytes), ...given })
  const facts = format.passThrough.readRequest(body)
  return {
    scene: 'chat',
    operation: 'token-count',
    format: format.name,
    model: facts.model,
    isStream: false,
    isFree: true,
    estimate: facts.estimate,
    bound: facts.estimate,
    encode: target => {
      if (target.format === format.name) {
        return { ...exchange(format, format, { ...body, model: target.upstreamModel }, target), headers }
      }
      const { body: translated, warnings } = translateRequest(
        format,
        upstreamFormat(target),
        format.decodeRequest(body),
        target,
      )
      return { ...exchange(format, upstreamFormat(target), translated, target), warnings }
    },
    answerWithoutUpstream: limits => ({
      ...toAnswer(counting.encodeAnswer(facts.estimate(limits).inputTokens ?? 0)),
      warnings: [ESTIMATE_WARNING],
    }),
  }
}

function exchange(client: CountingFormat, upstream: WireFormat, request: Json, target: Target): Exchange {
  const { tokenCounting } = upstream
  if (!tokenCounting) throw new Error(`an endpoint counts tokens in "${upstream.name}", which has no words for that`)
  return {
    body: Buffer.from(JSON.stringify(tokenCounting.encodeRequest(request, target))),
    headers: {},
    warnings: [],
    decodeAnswer: bytes => {
      const tokens = tokenCounting.decodeAnswer(tryParse(bytes))
      return client === upstream ? observedNothing(bytes) : toAnswer(client.tokenCounting.encodeAnswer(tokens))
    },
    decodeFault: (status, bytes) => upstream.decodeFault(status, tryParse(bytes)),
    openStream: () => {
      throw new Error('a count is no stream')
    },
  }
}

function toAnswer(body: Json): Answer {
  return observedNothing(Buffer.from(JSON.stringify(body)))
}

function observedNothing(body: Uint8Array): Answer {
  return { body, observed: { usage: undefined, outputBytes: 0, isFinished: true } }
}
