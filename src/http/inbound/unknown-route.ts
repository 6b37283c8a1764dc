import { Fault } from '#core/fault.ts'
import type { AnyRoute } from './route.ts'

/** Why nothing answers at this URL: the path is unknown, or known with other methods (`allow`). */
export function unknownRoute(
  routes: readonly AnyRoute[],
  method: string,
  url: string,
): { fault: Fault; allow?: string } {
  const [path = ''] = url.split('?', 1)
  const methods = routes.filter(route => matches(route.path, path)).map(route => route.method)
  if (methods.length === 0) {
    return {
      fault: new Fault('not_found', `There is no endpoint ${method} ${path.slice(0, 200)}.`, {
        hint: 'GET /openapi.json lists every endpoint.',
      }),
    }
  }
  const allow = [...new Set(methods)].join(', ')
  return { fault: new Fault('method_not_allowed', `${method} is not allowed here; use ${allow}.`), allow }
}

function matches(pattern: string, path: string): boolean {
  const expected = pattern.split('/')
  const given = path.split('/')
  return (
    expected.every((part, i) => {
      if (part === '*') return given[i] !== undefined
      return part.startsWith(':') ? Boolean(given[i]) : part === given[i]
    }) &&
    (expected.at(-1) === '*' || expected.length === given.length)
  )
}
