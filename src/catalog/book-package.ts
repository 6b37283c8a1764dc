import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

const PACKAGE = '@pydantic/genai-prices'

export type BookPackage = Pick<typeof import('@pydantic/genai-prices'), 'findProvider' | 'calcPrice'> & {
  /** Package and version: the data changes with it and never while it runs. */
  readonly edition: string
}

const require = createRequire(import.meta.url)

let loaded: BookPackage | undefined

/** Loads the package when first asked: it costs a start 40 ms and 20 MB, which a configuration with prices does not need. */
export function loadBook(): BookPackage {
  loaded ??= load()
  return loaded
}

function load(): BookPackage {
  const { findProvider, calcPrice } = require('@pydantic/genai-prices') as typeof import('@pydantic/genai-prices')
  // Its manifest is not among its exports.
  const manifest = path.join(path.dirname(require.resolve(PACKAGE)), '..', 'package.json')
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  return { findProvider, calcPrice, edition: `${PACKAGE} ${version}` }
}
