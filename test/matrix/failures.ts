import assert from 'node:assert/strict'
import type { Raised, Way } from './clients/client.ts'
import { CLIENTS } from './clients/index.ts'
import { FORMATS, type Format } from './conversation.ts'
import { Exchange } from './exchange.ts'
import { question, type Rig } from './rig.ts'

/** A way in which an upstream fails, and what it means to the client, whichever upstream it was. */
export interface Failure {
  readonly name: string
  readonly about: string
  /** What the upstream answers (`test/fixtures/<format>/<fixture>.*`). */
  readonly fixture: string
  readonly meaning: Meaning | Readonly<Record<Format, Meaning>>
  /** The stream had begun: the SDK learns of it from an event and not from a status. */
  readonly isMidway?: true
  /** The upstream's own words reach the client: they name what to change. */
  readonly says?: RegExp
  /** Words by which programs of one family know it. */
  readonly saysTo?: Readonly<Partial<Record<Format, RegExp>>>
  /** Words about our account, which are nobody else's business. */
  readonly hides?: RegExp
  readonly retryAfter?: string
}

export type Meaning = 'bad request' | 'too long' | 'upstream failed' | 'nobody can'

/** How each family says it: the SDK's class, the status, the word that programs look at. */
export const WORDS: Readonly<Record<Meaning, Readonly<Record<Format, Omit<Raised, 'message'>>>>> = {
  'bad request': {
    'chat-completions': { kind: 'BadRequestError', status: 400, code: undefined },
    messages: { kind: 'BadRequestError', status: 400, code: 'invalid_request_error' },
    responses: { kind: 'BadRequestError', status: 400, code: undefined },
    'generate-content': { kind: 'ApiError', status: 400, code: 'INVALID_ARGUMENT' },
  },
  'too long': {
    'chat-completions': { kind: 'BadRequestError', status: 400, code: 'context_length_exceeded' },
    messages: { kind: 'BadRequestError', status: 400, code: 'invalid_request_error' },
    responses: { kind: 'BadRequestError', status: 400, code: 'context_length_exceeded' },
    'generate-content': { kind: 'ApiError', status: 400, code: 'INVALID_ARGUMENT' },
  },
  'upstream failed': {
    'chat-completions': { kind: 'InternalServerError', status: 502, code: 'upstream_error' },
    messages: { kind: 'InternalServerError', status: 500, code: 'api_error' },
    responses: { kind: 'InternalServerError', status: 502, code: 'upstream_error' },
    'generate-content': { kind: 'ApiError', status: 502, code: 'UNAVAILABLE' },
  },
  'nobody can': {
    'chat-completions': { kind: 'InternalServerError', status: 503, code: 'all_channels_failed' },
    messages: { kind: 'OverloadedError', status: 529, code: 'overloaded_error' },
    responses: { kind: 'InternalServerError', status: 503, code: 'all_channels_failed' },
    'generate-content': { kind: 'ApiError', status: 503, code: 'UNAVAILABLE' },
  },
}

export const FAILURES: readonly Failure[] = [
  {
    name: 'a request that the upstream refuses',
    about: 'The upstream answers 400: the client is told in the upstream’s words what to change.',
    fixture: 'bad-request',
    meaning: 'bad request',
    says: /temperature/i,
  },
  {
    name: 'a conversation that is too long',
    about: 'The upstream answers 400 in its own way of saying it, which the client reads in its own.',
    fixture: 'too-long',
    meaning: 'too long',
    says: /128000/,
    saysTo: { messages: /prompt is too long/ },
  },
  {
    name: 'a key of ours that the upstream refuses',
    about: 'The upstream answers 401 (Google: 400). The client’s own key is good, so it must not read of a bad one.',
    fixture: 'bad-key',
    meaning: 'upstream failed',
    hides: /key/i,
  },
  {
    name: 'a rate limit of ours',
    about: 'The upstream answers 429 and when to come back, which is passed on.',
    fixture: 'rate-limit',
    meaning: 'nobody can',
    hides: /limit|quota|org/i,
    retryAfter: '7',
  },
  {
    name: 'an upstream that fails',
    about: 'The upstream answers 500.',
    fixture: 'server-error',
    meaning: 'upstream failed',
  },
  {
    name: 'an error in the middle of a stream',
    about:
      'The answer has begun when the upstream sends an error event: the SDK raises it, and the answer is not taken for whole.',
    fixture: 'broken',
    meaning: {
      'chat-completions': 'upstream failed',
      messages: 'nobody can',
      responses: 'upstream failed',
      'generate-content': 'nobody can',
    },
    isMidway: true,
  },
]

export interface FailureCell {
  readonly of: Failure
  readonly client: Format
  readonly upstream: Format
  readonly way: Way
  readonly name: string
}

export function cellsOf(of: Failure): FailureCell[] {
  const ways: readonly Way[] = of.isMidway ? ['stream'] : ['whole', 'stream']
  return FORMATS.flatMap(client =>
    FORMATS.flatMap(upstream =>
      ways.map(way => ({
        of,
        client,
        upstream,
        way,
        name: `${of.name}: ${client} client, ${upstream} upstream, ${way}`,
      })),
    ),
  )
}

export function meaningOf({ meaning }: Failure, upstream: Format): Meaning {
  return typeof meaning === 'string' ? meaning : meaning[upstream]
}

/** Asks, and holds what the SDK raises against what its family says. */
export async function play({ of, client, upstream, way, name }: FailureCell, rig: Rig): Promise<void> {
  const exchange = new Exchange()
  const call = { client, way, upstream, fixture: of.fixture, conversation: question(name), exchange }
  const { message, ...raised } = await raisedBy(rig.ask(call), client)
  const { kind, status, code } = WORDS[meaningOf(of, upstream)][client]
  assert.deepEqual(raised, of.isMidway ? midway(client, code, status) : { kind, status, code })
  if (of.says) assert.match(message, of.says)
  const word = of.saysTo?.[client]
  if (word) assert.match(message, word)
  // The digits of an id may spell anything.
  if (of.hides) assert.doesNotMatch(message.replaceAll(/req_\w+/g, ''), of.hides)
  const { headers } = exchange
  const requestId = headers.get('x-request-id') ?? ''
  assert.match(requestId, /^req_/)
  assert.equal(headers.get('request-id'), requestId)
  if (of.retryAfter) assert.equal(headers.get('retry-after'), of.retryAfter)
  if (of.isMidway) assert.equal((await rig.billOf(requestId)).outcome, 'cut')
}

/** After the status is sent only Google's SDK has one to tell, the error's own. */
function midway(client: Format, code: string | undefined, status: number | undefined): Omit<Raised, 'message'> {
  return { kind: CLIENTS[client].midwayKind, status: client === 'generate-content' ? status : undefined, code }
}

export async function raisedBy(answer: Promise<unknown>, client: Format): Promise<Raised> {
  const error = await answer.then(
    () => assert.fail('the SDK took it for a whole answer'),
    (reason: unknown) => reason,
  )
  return CLIENTS[client].describe(error)
}
