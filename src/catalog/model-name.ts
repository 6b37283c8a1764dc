import type { MatchLogic } from '@pydantic/genai-prices'

/**
 * Whether `upstreamModel` is what a pattern of the price book names, and not only something that the pattern lets
 * through: `starts_with: gpt-5` is for `gpt-5-2025-08-07`, and no price for a `gpt-5-turbo` that came later. One of the
 * names in the pattern must be there, with nothing before it but the namespaces of a cloud (`eu.anthropic.`) and nothing
 * after it but a version.
 *
 * @param id what the book calls the model, a name too
 */
export function namesModel(match: MatchLogic, id: string, upstreamModel: string): boolean {
  const wanted = upstreamModel.trim().toLowerCase()
  return namesIn(match).some(test => test(wanted)) || isVersionOf(id.toLowerCase(), wanted)
}

type Test = (wanted: string) => boolean

function namesIn(match: MatchLogic): Test[] {
  if ('or' in match) return match.or.flatMap(namesIn)
  // The book has tried the whole pattern; conditions beside a name narrow it.
  if ('and' in match) return match.and.flatMap(namesIn)
  if ('equals' in match) return [wanted => wanted === match.equals.toLowerCase()]
  if ('regex' in match) return WHOLE.test(match.regex) ? [wanted => new RegExp(match.regex).test(wanted)] : []
  const [name = ''] = Object.values(match) as string[]
  return [wanted => isVersionOf(name.toLowerCase(), wanted)]
}

/** Regular expressions that spell a name from its first to its last character. */
const WHOLE = /^\^(?!\(\?).*\$$/

const NAMESPACES = /^([a-z][a-z-]*\.)*$/

/** Dates and numbers of releases, as providers put them behind a name. `latest` moves on to what may cost otherwise. */
const VERSION = /^([-@](\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2,4}|\d{3,4}|v\d+)|:\d+)*$/

function isVersionOf(name: string, wanted: string): boolean {
  const at = wanted.indexOf(name)
  return at >= 0 && NAMESPACES.test(wanted.slice(0, at)) && VERSION.test(wanted.slice(at + name.length))
}
