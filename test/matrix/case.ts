import type { Way } from './clients/client.ts'
import {
  type Answer,
  type Conversation,
  FORMATS,
  type Format,
  type StopReason,
  type ToolCall,
  type Usage,
} from './conversation.ts'
import type { Asked, AskedTurn } from './upstreams/asked.ts'

/** One row of the claim: what is said, what must reach the upstream and what must come back, for all pairs of formats. */
export interface Case {
  readonly name: string
  /** What the documentation says of it. */
  readonly about: string
  readonly steps: readonly Step[]
  /** Where formats lack something; without any, everything crosses between any two. */
  readonly exceptions?: readonly Exception[]
}

/** One request and its answer. */
export interface Step {
  /** What the upstream answers (`test/fixtures/<format>/<fixture>.*`). */
  readonly fixture: string
  /** Who answers instead of the cell's upstream. */
  readonly by?: Format
  /**
   * @param words stand in the first turn, and in no other conversation
   * @param before the answers of the steps before
   */
  say(words: string, before: readonly Answer[]): Conversation
  readonly answer: ExpectedAnswer
}

export interface ExpectedAnswer {
  readonly text?: string
  readonly refusal?: string
  readonly thinking?: string
  readonly calls?: readonly ToolCall[]
  readonly stop: StopReason
  /** What the upstream's fixture tells; for all: 40 tokens in, 12 out. */
  readonly usage?: Usage
  /** How this turn must reach the upstream when it is sent back. By default with its text and its calls. */
  readonly echo?: Readonly<Partial<Record<Format, Omit<AskedTurn, 'by'>>>>
}

/** What is different for some pairs of formats, and why. */
export interface Exception {
  /** All of them, unless given. */
  readonly clients?: readonly Format[]
  readonly upstreams?: readonly Format[]
  readonly loss: Loss
  /** Also where both sides speak the same format: a loss of what another format's upstream has said. */
  readonly isNative?: true
  /** What the gateway says of it in `x-gateway-warnings`. */
  readonly warnings?: readonly (string | RegExp)[]
  /** What reaches the upstream instead. */
  asked?(asked: Asked): Asked
  /** What the client gets instead. */
  answer?(answer: ExpectedAnswer): ExpectedAnswer
}

export type Loss =
  /** The pair does not exist: one side has no way to say it. */
  | { readonly kind: 'absent'; readonly why: string }
  /** The request is refused, since without what it asks for it would mean something else. */
  | { readonly kind: 'refused'; readonly what: string; readonly why: string }
  /** Part of the request is left out, with a warning. */
  | { readonly kind: 'dropped'; readonly what: string; readonly why: string }
  /** The request is answered, but the client's format has no place for a part of the answer. */
  | { readonly kind: 'unheard'; readonly what: string; readonly why: string }
  /** Nothing is lost; something stands in the request that the client did not say. */
  | { readonly kind: 'added'; readonly what: string; readonly why: string }

/** One pair of formats in a case. */
export interface Pair {
  readonly of: Case
  readonly client: Format
  readonly upstream: Format
  readonly exceptions: readonly Exception[]
}

export interface Cell extends Pair {
  readonly way: Way
  readonly name: string
}

export function pairsOf(of: Case): Pair[] {
  return FORMATS.flatMap(client =>
    FORMATS.map(upstream => ({ of, client, upstream, exceptions: exceptionsFor(of, client, upstream) })),
  )
}

/** Nothing is lost where nothing is translated, but what a side cannot say it cannot say there either. */
function exceptionsFor({ exceptions = [] }: Case, client: Format, upstream: Format): Exception[] {
  return exceptions.filter(
    ({ clients = FORMATS, upstreams = FORMATS, loss, isNative }) =>
      clients.includes(client) &&
      upstreams.includes(upstream) &&
      (client !== upstream || isNative || loss.kind === 'absent'),
  )
}

/** Every pair that exists, whole and streamed. */
export function cellsOf(of: Case): Cell[] {
  return pairsOf(of)
    .filter(({ exceptions }) => exceptions.every(({ loss }) => loss.kind !== 'absent'))
    .flatMap(pair =>
      (['whole', 'stream'] as const).map(way => ({
        ...pair,
        way,
        name: `${of.name}: ${pair.client} client, ${pair.upstream} upstream, ${way}`,
      })),
    )
}
