import type { Call } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import type { Result } from '#core/result.ts'
import type { Exchange, Observed, Target, Work } from '#core/work.ts'
import { type Adapt, adaptAll, type Sides } from './adaptation.ts'
import { adaptCustomTools } from './adaptations/custom-tools.ts'
import { adaptEmptyArguments } from './adaptations/empty-arguments.ts'
import { adaptJsonMode } from './adaptations/json-mode.ts'
import { adaptJsonSchema } from './adaptations/json-schema.ts'
import { refuseDemands } from './adaptations/refusals.ts'
import { adaptSeals } from './adaptations/seals.ts'
import { adaptToolIds } from './adaptations/tool-ids.ts'
import { adaptToolNames } from './adaptations/tool-names.ts'
import { adaptToolPairs } from './adaptations/tool-pairs.ts'
import { adaptToolResults } from './adaptations/tool-results.ts'
import { adaptTranslation } from './adaptations/translation.ts'
import { lossesOfResult } from './answer-losses.ts'
import { namedResult } from './answer-name.ts'
import type { AnswerContext, EncodedRequest, FormatName, Stated, WireFormat } from './format.ts'
import { tryParse } from './json/parse.ts'
import { TranslatingStream } from './translating-stream.ts'

/** In the order in which they meet a call. */
const ADAPTATIONS: readonly Adapt[] = Object.freeze([
  refuseDemands,
  adaptSeals,
  adaptTranslation,
  // Before JSON mode, which it falls back to.
  adaptJsonSchema,
  adaptJsonMode,
  adaptEmptyArguments,
  // Before any text names a call by its id.
  adaptToolIds,
  adaptToolPairs,
  adaptCustomTools,
  adaptToolResults,
  adaptToolNames,
])

/** A client's request: read, and as it came. */
export interface ClientRequest {
  readonly call: Call
  readonly body: Readonly<Record<string, unknown>>
  readonly estimate: Work['estimate']
  readonly stated?: Stated | undefined
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
  { call, body: request, estimate, stated }: ClientRequest,
  target: Target,
): Exchange {
  const { sides, adapted, body, warnings } = translateRequest(client, upstream, call, target)
  const context: AnswerContext = {
    publicModel: target.publicModel,
    wantsStreamUsage: call.wantsStreamUsage,
    request,
    inputTokensEstimate: estimate(target.limits ?? NO_LIMITS).inputTokens,
    stated,
  }
  return {
    body: Buffer.from(JSON.stringify(body)),
    headers: {},
    warnings,
    decodeAnswer: bytes => {
      const answer = upstream.decodeResponse(tryParse(bytes))
      const result = adapted.adaptResult(namedResult(answer, sides))
      const observed: Observed = { ...observe(result), upstreamId: answer.id }
      const encoded = withRouting(client.encodeResponse(result, context), target)
      return { body: encoded, observed, warnings: lossesOfResult(result, client.name) }
    },
    decodeFault: (status, bytes) => upstream.decodeFault(status, tryParse(bytes)),
    openStream: () =>
      new TranslatingStream({
        decoder: upstream.decodeStream(),
        adapt: adapted.adaptEvents(),
        encoder: client.encodeStream(context),
        sides,
        routing: target.routing,
      }),
  }
}

/** A call in the upstream's words, as far as it can be said in them, and the way back for the answer. */
export function translateRequest(
  client: WireFormat,
  upstream: WireFormat,
  call: Call,
  target: Target,
): EncodedRequest & { readonly sides: Sides; readonly adapted: ReturnType<typeof adaptAll> } {
  if (client.name !== upstream.name) assertTranslatable(client, call)
  const sides: Sides = { client: client.name, upstream: upstream.name, quirks: target.quirks }
  const adapted = adaptAll(ADAPTATIONS, call, sides)
  const { body, warnings } = upstream.encodeRequest(adapted.call, target)
  return { sides, adapted, body, warnings: [...new Set([...adapted.warnings, ...warnings])] }
}

/** Fields that point to what another host keeps: without them the model would answer something else. */
const POINTERS: Readonly<Partial<Record<FormatName, readonly string[]>>> = Object.freeze({
  responses: ['prompt'],
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

function withRouting(body: Record<string, unknown>, { routing }: Target): Buffer {
  return Buffer.from(JSON.stringify(routing ? { ...body, _routing: routing } : body))
}

function observe(result: Result): Observed {
  return { usage: result.usage, outputBytes: outputBytesOf(result), isFinished: true }
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
