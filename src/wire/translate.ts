import type { Call } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import type { Result } from '#core/result.ts'
import type { Answer, Exchange, Target, Work } from '#core/work.ts'
import { type Adapt, adaptAll } from './adaptation.ts'
import { seals } from './adaptations/seals.ts'
import { named } from './answer-name.ts'
import type { AnswerContext, FormatName, WireFormat } from './format.ts'
import { tryParse } from './json/parse.ts'
import { TranslatingStream } from './translating-stream.ts'

/** In the order in which they meet a call. */
const ADAPTATIONS: readonly Adapt[] = Object.freeze([seals])

/** A client's request: read, and as it came. */
export interface ClientRequest {
  readonly call: Call
  readonly body: Readonly<Record<string, unknown>>
  readonly estimate: Work['estimate']
}

const NO_LIMITS = Object.freeze({ contextLength: undefined, maxOutputTokens: undefined })

/**
 * Everything goes through the neutral form: client and upstream speak different formats, or the conversation holds
 * what another format's upstream left in it.
 *
 * @throws Fault `unsupported_parameter` for what would change the meaning of the request if it were left out
 */
export function translate(
  client: WireFormat,
  upstream: WireFormat,
  { call, body: request, estimate }: ClientRequest,
  target: Target,
): Exchange {
  if (client.name !== upstream.name) assertTranslatable(client, call)
  const adapted = adaptAll(ADAPTATIONS, call, { client: client.name, upstream: upstream.name })
  const { body, warnings } = upstream.encodeRequest(adapted.call, target)
  const context: AnswerContext = {
    publicModel: target.publicModel,
    wantsStreamUsage: call.wantsStreamUsage,
    request,
    inputTokensEstimate: estimate(target.limits ?? NO_LIMITS).inputTokens,
  }
  return {
    body: Buffer.from(JSON.stringify(body)),
    headers: {},
    warnings: [...new Set([...adapted.warnings, ...warnings])],
    decodeAnswer: bytes => {
      const result = adapted.adaptResult(named(upstream.decodeResponse(tryParse(bytes)), client.name))
      return encodeAnswer(result, client.encodeResponse(result, context), target)
    },
    decodeFault: (status, bytes) => upstream.decodeFault(status, tryParse(bytes)),
    openStream: () =>
      new TranslatingStream({
        decoder: upstream.decodeStream(),
        adapt: adapted.adaptEvents(),
        encoder: client.encodeStream(context),
        client: client.name,
        routing: target.routing,
      }),
  }
}

/** Fields that point to what another host keeps: without them the model would answer something else. */
const POINTERS: Readonly<Partial<Record<FormatName, readonly string[]>>> = Object.freeze({
  responses: ['previous_response_id', 'conversation', 'prompt', 'background'],
  'generate-content': ['cachedContent'],
})

function assertTranslatable({ name }: WireFormat, { extensions }: Call): void {
  for (const param of POINTERS[name] ?? []) {
    const value = extensions[name]?.[param]
    if (value === undefined || value === null || value === false) continue
    const message = `\`${param}\` works only with models whose provider speaks ${name}.`
    throw new Fault('unsupported_parameter', message, { param })
  }
}

function encodeAnswer(result: Result, body: Record<string, unknown>, { routing }: Target): Answer {
  return {
    body: Buffer.from(JSON.stringify(routing ? { ...body, _routing: routing } : body)),
    observed: { usage: result.usage, outputBytes: outputBytesOf(result), isFinished: true },
  }
}

/** UTF-8 bytes that the model wrote, tool arguments and reasoning included. */
function outputBytesOf({ choices }: Result): number {
  const texts = choices.flatMap(({ parts }) =>
    parts.map(part => {
      if (part.type === 'tool-call') return part.name + part.arguments
      return 'text' in part ? part.text : ''
    }),
  )
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}
