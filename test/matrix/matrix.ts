import assert from 'node:assert/strict'
import type { Cell, Step } from './case.ts'
import { SEALS } from './cases.ts'
import type { Client } from './clients/client.ts'
import { CLIENTS } from './clients/index.ts'
import type { Answer, Conversation, Turn, Usage } from './conversation.ts'
import { Exchange } from './exchange.ts'
import { raisedBy, WORDS } from './failures.ts'
import { modelOf, type Rig } from './rig.ts'
import { type Asked, TurnReader } from './upstreams/asked.ts'
import { fixtureOf, type Seen } from './upstreams/provider.ts'

/** Plays a cell's steps and holds what both sides got against what the case expects. */
export async function play(cell: Cell, rig: Rig): Promise<void> {
  const isRefused = cell.exceptions.some(({ loss }) => loss.kind === 'refused')
  return isRefused ? playRefused(cell, rig) : playAnswered(cell, rig)
}

/** The upstream is not even asked. */
async function playRefused({ of, client, upstream, way, name }: Cell, rig: Rig): Promise<void> {
  const [step] = of.steps
  assert.ok(step)
  const answer = rig.ask({ client, way, upstream, fixture: step.fixture, conversation: step.say(name, []) })
  const { message: _, ...raised } = await raisedBy(answer, client)
  assert.deepEqual(raised, WORDS['bad request'][client])
  assert.deepEqual(rig.provider.seen(name), [])
}

async function playAnswered(cell: Cell, rig: Rig): Promise<void> {
  const answers: Answer[] = []
  for (const [index, step] of cell.of.steps.entries()) {
    const conversation = step.say(cell.name, answers)
    const exchange = new Exchange()
    const here = step.by === undefined ? cell : { ...cell, upstream: step.by, exceptions: [] }
    const { client, way, upstream } = here
    const answer = await rig.ask({ client, way, upstream, fixture: step.fixture, conversation, exchange })
    answers.push(answer)
    const seen = rig.provider.seen(cell.name)[index]
    assert.ok(seen, 'the upstream was asked')
    assertAsked(here, step, conversation, seen)
    assertNoForeignSeal(seen)
    assertAnswer(here, step, answer)
    assertWarnings(here, exchange)
    if (way === 'stream') CLIENTS[client].assertOrder(exchange.frames)
    if (client === upstream && here.exceptions.length === 0) assertUntouched(here, step, exchange, seen)
    if (upstream === step.by) continue
    await assertBill(here, step, exchange, rig)
  }
}

function assertAsked(cell: Cell, step: Step, conversation: Conversation, { asked }: Seen): void {
  const { system, turns, tools, toolChoice, schema, stop, effort, maxTokens } = conversation
  const plain: Asked = {
    model: step.fixture,
    isStream: cell.way === 'stream',
    system,
    turns: turnsOf(turns, cell),
    tools,
    toolChoice,
    schema: schema?.schema,
    stop,
    effort,
    maxTokens,
  }
  const expected = cell.exceptions.reduce((told, exception) => exception.asked?.(told) ?? told, plain)
  assert.deepEqual(asked, expected, 'the upstream is told what the client said')
}

/** The conversation's turns as the upstream must read them. */
function turnsOf(turns: readonly Turn[], { of, upstream }: Cell): Asked['turns'] {
  const reader = new TurnReader()
  let echoes = 0
  for (const turn of turns) {
    if (turn.by === 'user') reader.add('user', { text: turn.text, images: turn.images ?? [] })
    else if (turn.by === 'tools') {
      const { calls = [] } = (of.steps[echoes - 1] as Step).answer
      reader.add('user', { results: turn.results.map((text, n) => ({ to: calls[n], text })) })
    } else if ('echo' in turn) {
      const { text = '', calls = [], echo } = (of.steps[echoes] as Step).answer
      reader.add('model', echo?.[upstream] ?? { text, calls })
      echoes += 1
    } else reader.add('model', { text: turn.text })
  }
  return reader.turns
}

/** How every seal begins that the gateway wraps on its way to a client of another format. */
const WRAPPED = 'dG9sbGdhdGU6'

/** A vendor gets its own seals, as it made them, and nobody else's. */
function assertNoForeignSeal({ format, text }: Seen): void {
  assert.ok(!text.includes(WRAPPED), 'no upstream sees a wrapped seal')
  for (const [maker, seals] of Object.entries(SEALS)) {
    if (maker === format) continue
    for (const seal of seals) assert.ok(!text.includes(seal), `${format} does not see what ${maker} has sealed`)
  }
}

/** Each loss is named, and nothing else is. */
function assertWarnings({ exceptions }: Cell, { warnings }: Exchange): void {
  const expected = exceptions.flatMap(exception => exception.warnings ?? [])
  const isMeant = (warning: string, by: string | RegExp) => (typeof by === 'string' ? by === warning : by.test(warning))
  const unexpected = warnings.filter(warning => !expected.some(each => isMeant(warning, each)))
  const missing = expected.filter(each => !warnings.some(warning => isMeant(warning, each)))
  assert.deepEqual({ unexpected, missing }, { unexpected: [], missing: [] })
}

/** What each fixture tells unless its case says otherwise. */
const USAGE: Usage = { input: 40, output: 12 }

/** That at the rig's prices, whichever way it went. */
const COST = '0.000064'

function assertAnswer(cell: Cell, step: Step, answer: Answer): void {
  const client = CLIENTS[cell.client]
  const expected = cell.exceptions.reduce((told, exception) => exception.answer?.(told) ?? told, step.answer)
  const { text = '', refusal = '', thinking = '', calls = [], stop } = expected
  const heard = answer.calls.map(({ name, arguments: given }) => ({ name, arguments: given }))
  assert.deepEqual(
    { text: answer.text, refusal: answer.refusal, thinking: answer.thinking, calls: heard, stop: answer.stop },
    { text, refusal, thinking, calls, stop: client.stopWords[stop] },
  )
  assert.equal(new Set(answer.calls.map(call => call.id)).size, calls.length, 'calls are told apart')
  assert.deepEqual(known(answer.usage), known(sayable(toldBy(cell, step), client)))
  assert.equal(answer.model, modelOf(cell.upstream, step.fixture))
}

function toldBy({ upstream }: Cell, { answer }: Step): Usage {
  return sayable(answer.usage ?? USAGE, CLIENTS[upstream])
}

/** Whatever the client can read of it, all that the upstream told is in the books. */
async function assertBill(cell: Cell, step: Step, { headers }: Exchange, rig: Rig): Promise<void> {
  const { outcome, is_estimated, cost, ...counts } = await rig.billOf(headers.get('x-request-id') ?? '')
  assert.deepEqual({ outcome, is_estimated }, { outcome: 'completed', is_estimated: false })
  const billed: Usage = {
    input: counts.prompt_tokens ?? undefined,
    cacheRead: counts.cache_read_tokens ?? undefined,
    cacheWrite: counts.cache_write_tokens ?? undefined,
    cacheWrite5m: counts.cache_write_tokens_5m ?? undefined,
    cacheWrite1h: counts.cache_write_tokens_1h ?? undefined,
    output: counts.completion_tokens ?? undefined,
  }
  const { reasoning: _, ...told } = toldBy(cell, step)
  assert.deepEqual(known(billed), known(told))
  if (step.answer.usage === undefined) assert.equal(cost, COST)
}

/** Of what is known, what a format can say. */
function sayable(usage: Usage, { counts }: Client): Usage {
  const entries = Object.entries(counts) as [keyof Usage, 'where told' | 'always'][]
  return Object.fromEntries(
    entries.map(([count, said]) => [count, usage[count] ?? (said === 'always' ? 0 : undefined)]),
  )
}

function known(usage: Usage): Usage {
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== undefined))
}

/**
 * Nothing but the model's name is changed, neither on the way to the upstream nor back; of responses also what says where
 * they are kept, since that is the gateway: `store`, their ids, and ids of items that the upstream does not hold.
 */
function assertUntouched(
  { upstream, way }: Cell,
  { fixture }: Step,
  { sent, received }: Exchange,
  { text }: Seen,
): void {
  const model = JSON.stringify(modelOf(upstream, fixture))
  const asked = sent.replace(model, JSON.stringify(fixture))
  const answer = fixtureOf(upstream, fixture, way === 'stream')
  const renamed = answer.replace(/("model(?:Version)?": ?)"[^"]*"/g, `$1${model}`)
  assert.equal(withoutKeeping(text), withoutKeeping(asked), 'the request’s bytes pass as they are')
  assert.equal(withoutKeeping(received), withoutKeeping(renamed), 'the answer’s bytes pass as they are')
}

function withoutKeeping(bytes: string): string {
  return bytes
    .replaceAll(/,\s*"(?:store|previous_response_id)": ?(?:true|false|null)/g, '')
    .replaceAll(/"id": ?"(?:msg|rs|fc)_\w+",\s*/g, '')
    .replaceAll(/"resp_\w+"/g, '""')
}
