import { Fault } from '#core/fault.ts'
import { formatUsd } from '#core/money.ts'
import type { Exchange, Observed } from '#core/work.ts'
import type { OutboundClient, OutboundRequest } from '#http/outbound/client.ts'
import { scrub } from '#lib/scrub.ts'
import { computeCharge, totalTokens } from '#metering/charge.ts'
import type { Endpoints } from '#relay/endpoints.ts'
import { prepare } from '#relay/prepare.ts'
import type { Trial } from './trial.ts'
import { type Trouble, troubleOfFailure, troubleOfStatus } from './trouble.ts'

export interface Finding extends Partial<Trouble> {
  readonly channel: string
  readonly model: string
  readonly family: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly latencyMs: number
  /** As the provider counted; `undefined` when it did not. */
  readonly tokens?: number | undefined
  /** By the declared price. */
  readonly costUsd?: string | undefined
}

const PATIENCE_MS = 30_000

/** Asks one question as the gateway would, by the same adapter and client, and tells what came of it. */
export async function examine(trial: Trial, endpoints: Endpoints, outbound: OutboundClient): Promise<Finding> {
  const { channel, model, offer, question } = trial
  const about = { channel: channel.id, model: model.id, family: question.family }
  const startedAtMs = performance.now()
  const told = await attempt(trial, endpoints, outbound)
  const latencyMs = Math.round(performance.now() - startedAtMs)
  if ('problem' in told) {
    // The provider may repeat a key that looks like none.
    const problem = channel.credentials.reduce(
      (text, { key }) => (key ? text.replaceAll(key, '[redacted]') : text),
      told.problem,
    )
    return { ...about, status: 'fail', latencyMs, problem, fix: told.fix }
  }
  const { usage } = told.observed
  return {
    ...about,
    ...verdictOf(trial, told),
    latencyMs,
    tokens: usage && totalTokens(usage),
    costUsd: usage && formatUsd(computeCharge(usage, offer.price).cost),
  }
}

interface Told {
  readonly observed: Observed
  /** What a client would have read. */
  readonly text: string
}

function verdictOf({ question }: Trial, { observed, text }: Told): Pick<Finding, 'status'> & Partial<Trouble> {
  if (question.family === 'tool call' && !text.includes('"tool_calls"')) {
    return {
      status: 'warn',
      problem: 'it answered without calling the tool',
      fix: 'try again; if it never does, take "tools" from its capabilities',
    }
  }
  if (observed.usage) return { status: 'ok' }
  return {
    status: 'warn',
    problem: 'the answer does not tell its usage, which is estimated then',
    fix: 'see quirks.stream_options',
  }
}

async function attempt(
  { channel, model, offer, question: { work } }: Trial,
  endpoints: Endpoints,
  outbound: OutboundClient,
): Promise<Told | Trouble> {
  const endpoint = endpoints.find(channel, work, offer.upstreamModel)
  if (!endpoint) return { problem: `provider ${channel.provider} does not serve this`, fix: 'take the offer away' }
  try {
    const { exchange, request } = prepare(
      { work, model, way: { offer, credential: channel.credentials[0] }, routing: undefined },
      endpoint,
      endpoints,
    )
    const answer = await send(outbound, request)
    if ('problem' in answer) return answer
    if (answer.status < 200 || answer.status >= 300) return troubleOfStatus(answer.status, answer.bytes.toString())
    return work.isStream ? readStream(exchange, answer.bytes) : readWhole(exchange, answer.bytes)
  } catch (error) {
    const { message, cause } = Fault.from(error)
    const detail = cause instanceof Error ? `: ${scrub(cause.message)}` : ''
    return { problem: `${message}${detail}`, fix: 'check provider, base_url and formats: this is not the API expected' }
  }
}

function readWhole(exchange: Exchange, bytes: Buffer): Told {
  const { body, observed } = exchange.decodeAnswer(bytes)
  return { observed, text: Buffer.from(body).toString() }
}

function readStream(exchange: Exchange, bytes: Buffer): Told | Trouble {
  const codec = exchange.openStream()
  const pieces = [codec.push(bytes), codec.hasEnded ? undefined : codec.close()]
  if (codec.fault) throw codec.fault
  if (!codec.hasEnded && !codec.observed.isFinished) {
    return { problem: 'the stream ended before the answer was whole', fix: 'try again' }
  }
  return { observed: codec.observed, text: Buffer.concat(pieces.flatMap(piece => piece ?? [])).toString() }
}

function send(
  outbound: OutboundClient,
  request: OutboundRequest,
): Promise<{ readonly status: number; readonly bytes: Buffer } | Trouble> {
  return new Promise(resolve => {
    const chunks: Buffer[] = []
    let status = 0
    const outgoing = outbound.send(request, {
      started: code => {
        status = code
      },
      data: chunk => chunks.push(chunk),
      ended: () => done({ status, bytes: Buffer.concat(chunks) }),
      failed: failure => done(troubleOfFailure(failure)),
    })
    const timer = setTimeout(() => {
      outgoing.abort()
      done({ problem: `no whole answer within ${PATIENCE_MS / 1000} s`, fix: 'try again, or ask a faster model' })
    }, PATIENCE_MS)
    const done = (result: Parameters<typeof resolve>[0]) => {
      clearTimeout(timer)
      resolve(result)
    }
  })
}
