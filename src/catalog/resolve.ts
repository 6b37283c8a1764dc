import { Fault } from '#core/fault.ts'
import type { Catalog, Model } from './catalog.ts'
import { closestIds } from './suggest.ts'

/**
 * The model that a caller asked for.
 *
 * @param allowed public ids that the caller's key is restricted to; `undefined` for all
 * @throws Fault `model_not_found` with suggestions, or `model_not_allowed`
 */
export function resolveModel(catalog: Catalog, id: string, allowed: readonly string[] | undefined): Model {
  const model = catalog.models.get(id)
  if (!model) throw unknownModel(catalog, id, allowed)
  if (allowed && !allowed.includes(id)) {
    throw new Fault('model_not_allowed', `This API key may not use the model "${id}".`, {
      param: 'model',
      hint: `It may use: ${allowed.slice(0, 10).join(', ')}.`,
    })
  }
  return model
}

/** Also the answer for hidden and deferred models, which the snapshot does not hold. */
export function unknownModel(catalog: Catalog, id: string, allowed: readonly string[] | undefined): Fault {
  const suggestions = closestIds(
    id,
    visibleModels(catalog, allowed).map(model => model.id),
  )
  const [didYouMean] = suggestions
  const shown = id.slice(0, 200)
  return new Fault('model_not_found', `The model "${shown}" is not available.`, {
    param: 'model',
    didYouMean,
    suggestions: suggestions.length > 0 ? suggestions : undefined,
    hint: 'GET /v1/models lists the models that this key may use.',
  })
}

/** Models that a caller may list and use, in the order of the configuration. */
export function visibleModels(catalog: Catalog, allowed: readonly string[] | undefined): Model[] {
  const models = [...catalog.models.values()]
  return allowed ? models.filter(model => allowed.includes(model.id)) : models
}
