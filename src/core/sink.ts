/** Header names in lower case. */
export type HeaderMap = Readonly<Record<string, string>>

/**
 * Where an answer goes: the client's connection without Node's types. Either one `send`, or `open`, any number of
 * `write`s and one `end`. After the client has gone every call is a no-op.
 */
export interface Sink {
  /** A whole answer. */
  send(status: number, headers: HeaderMap, body: Uint8Array): void
  /** Begins a stream: status and headers leave with the first bytes. */
  open(status: number, headers: HeaderMap): void
  /** `false`: the client does not keep up; hold back until `drained` is called. */
  write(bytes: Uint8Array): boolean
  end(bytes?: Uint8Array): void
  /** Cuts the connection, so that the client cannot take a broken answer for a whole one. */
  destroy(): void
  readonly isOpen: boolean
  readonly isGone: boolean
  /** At most one watcher at a time; `undefined` removes it. */
  watch(watcher: SinkWatcher | undefined): void
}

export interface SinkWatcher {
  drained(): void
  /** The client closed its connection, or stopped reading for so long that it was closed. */
  gone(): void
}
