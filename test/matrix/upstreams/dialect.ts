import type { Format } from '../conversation.ts'
import type { Asked } from './asked.ts'

// biome-ignore lint/suspicious/noExplicitAny: requests are read as a provider would, and a wrong shape should fail
export type Json = any

/** A format as a provider speaks it. */
export interface Dialect {
  readonly format: Format
  /** Configured as this provider, under this path. */
  readonly provider: string
  readonly basePath: string
  readonly path: RegExp
  read(body: Json, path: string): Asked
}
