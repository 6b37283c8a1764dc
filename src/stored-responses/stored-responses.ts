import { setTimeout as sleep } from 'node:timers/promises'
import { Fault } from '#core/fault.ts'
import { Loop } from '#lib/loop.ts'
import { orUnavailable } from '#storage/availability.ts'
import type { Database } from '#storage/database.ts'
import { expiryOf, prolongedExpiryOf, stepOf } from './expiry.ts'
import {
  deleteExpired,
  deleteResponse,
  type Exchanged,
  type Item,
  insertResponse,
  type ResponseInput,
  readChain,
  readInput,
  readItemOwners,
  readResponse,
} from './store.ts'

const MEBIBYTE = 1024 * 1024
/** A larger response is not kept. */
const RESPONSE_BYTES_MAX = 32 * MEBIBYTE
/** A longer conversation cannot be gone on with: every turn of it would be read and sent again. */
const HISTORY_BYTES_MAX = 32 * MEBIBYTE
const LINKS_MAX = 1_000
/** The end of an answer waits for its response to be kept, but no longer than this. */
const KEEPING_PATIENCE_MS = 5_000
const ID_CHARACTERS_MAX = 256
const SWEEP_MS_MAX = 60 * 60_000
const SWEEP_BATCH = 200

export interface StoredResponsesOptions {
  readonly database: Database
  /** How long a response is kept after it was last needed. */
  readonly keptMs: number
  /** A response that was to be kept is not there; its client has had it. */
  onUnkept(error: unknown, requestId: string): void
  onError(error: unknown, duty: string): void
}

/** The responses that callers may come back to. */
export class StoredResponses {
  readonly #options: StoredResponsesOptions
  readonly #sweeping: Loop

  constructor(options: StoredResponsesOptions) {
    this.#options = options
    this.#sweeping = new Loop({
      name: 'deletion of expired responses',
      intervalMs: Math.min(stepOf(options.keptMs), SWEEP_MS_MAX),
      runOnce: signal => this.#sweep(signal),
      onError: options.onError,
    })
  }

  start(): void {
    this.#sweeping.start()
  }

  stop(): Promise<void> {
    return this.#sweeping.stop()
  }

  /**
   * Keeps what `make` makes; nothing if that is `undefined`. Never throws, and never takes long.
   *
   * @param requestId under which a failure is reported
   */
  async keep(requestId: string, make: () => ResponseInput | undefined): Promise<void> {
    const { database, keptMs, onUnkept } = this.#options
    try {
      const input = make()
      if (!input) return
      if (Buffer.byteLength(input.input) + Buffer.byteLength(input.response) > RESPONSE_BYTES_MAX) {
        throw new Error(`the response is larger than ${RESPONSE_BYTES_MAX} bytes`)
      }
      const nameable = { ...input, itemIds: input.itemIds.filter(isId) }
      await withPatience(insertResponse(database, nameable, expiryOf(Date.now(), keptMs)))
    } catch (error) {
      onUnkept(error, requestId)
    }
  }

  /**
   * What was said up to and including a response: the input and output of each turn, the oldest first.
   *
   * @throws Fault `previous_response_not_found` also when an earlier turn is missing
   */
  async history(workspaceId: string, responseId: string): Promise<Item[]> {
    if (!isId(responseId)) throw previousNotFound(responseId)
    const limits = { linksMax: LINKS_MAX, bytesMax: HISTORY_BYTES_MAX, expiresAt: this.#prolongedExpiry() }
    const chain = await orUnavailable(readChain(this.#options.database, { workspaceId, responseId }, limits))
    assertReadable(chain)
    if (chain.length === 0) throw previousNotFound(responseId)
    const missing = chain.at(-1)?.previousResponseId ?? undefined
    if (missing !== undefined && chain.length === LINKS_MAX) throw tooLong(`of more than ${LINKS_MAX} turns`)
    if (missing !== undefined) throw previousNotFound(missing)
    return chain.toReversed().flatMap(({ input, response }) => [...input, ...response.output])
  }

  /** Items of the workspace's responses by their ids; ids that nothing is known of are missing. */
  async items(workspaceId: string, itemIds: readonly string[]): Promise<ReadonlyMap<string, Item>> {
    const wanted = [...new Set(itemIds)].filter(isId)
    if (wanted.length === 0) return new Map()
    const limits = { bytesMax: HISTORY_BYTES_MAX, expiresAt: this.#prolongedExpiry() }
    const owners = await orUnavailable(readItemOwners(this.#options.database, { workspaceId, itemIds: wanted }, limits))
    assertReadable(owners)
    return new Map(owners.flatMap(({ input, response }) => [...input, ...response.output].flatMap(withId)))
  }

  /** @returns JSON text. @throws Fault `not_found` */
  async response(workspaceId: string, responseId: string): Promise<string> {
    assertId(responseId)
    const response = await orUnavailable(readResponse(this.#options.database, workspaceId, responseId))
    if (response === undefined) throw notFound(responseId)
    return response
  }

  /** The items of a response's own input. @throws Fault `not_found` */
  async input(workspaceId: string, responseId: string): Promise<Item[]> {
    assertId(responseId)
    const input = await orUnavailable(readInput(this.#options.database, workspaceId, responseId))
    if (input === undefined) throw notFound(responseId)
    return input
  }

  /** @throws Fault `not_found` */
  async delete(workspaceId: string, responseId: string): Promise<void> {
    assertId(responseId)
    const isDeleted = await orUnavailable(deleteResponse(this.#options.database, workspaceId, responseId))
    if (!isDeleted) throw notFound(responseId)
  }

  #prolongedExpiry(): Date {
    return prolongedExpiryOf(Date.now(), this.#options.keptMs)
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    let deleted = SWEEP_BATCH
    while (deleted === SWEEP_BATCH && !signal.aborted) {
      deleted = await deleteExpired(this.#options.database, SWEEP_BATCH)
    }
  }
}

/** What may name something here: Postgres takes no NUL in a text, and nothing long into an index. */
function isId(text: string): boolean {
  return text.length <= ID_CHARACTERS_MAX && !text.includes('\0')
}

function assertId(responseId: string): void {
  if (!isId(responseId)) throw notFound(responseId)
}

async function withPatience(storing: Promise<void>): Promise<void> {
  const done = new AbortController()
  const late = sleep(KEEPING_PATIENCE_MS, undefined, { signal: done.signal, ref: false }).then(() => {
    throw new Error(`the database took more than ${KEEPING_PATIENCE_MS} ms`)
  })
  try {
    await Promise.race([storing, late])
  } finally {
    done.abort()
  }
}

function assertReadable(read: readonly Exchanged[]): void {
  if ((read.at(-1)?.bytesSoFar ?? 0) > HISTORY_BYTES_MAX) throw tooLong(`of more than ${HISTORY_BYTES_MAX} bytes`)
}

function withId(item: Item): [string, Item][] {
  const isReference = item.type === 'item_reference'
  return typeof item.id === 'string' && !isReference ? [[item.id, item]] : []
}

function tooLong(what: string): Fault {
  return new Fault('context_length_exceeded', `A conversation ${what} cannot be gone on with; send what matters of it.`)
}

function previousNotFound(responseId: string): Fault {
  const message = `There is no response "${shown(responseId)}" to go on from: it was not stored, or is deleted or expired.`
  return new Fault('previous_response_not_found', message, { param: 'previous_response_id' })
}

function notFound(responseId: string): Fault {
  return new Fault('not_found', `There is no response "${shown(responseId)}" in this workspace.`)
}

function shown(id: string): string {
  return id.slice(0, 100)
}
