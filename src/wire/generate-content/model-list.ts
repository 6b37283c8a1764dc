import { Type } from 'typebox'
import { Fault } from '#core/fault.ts'
import type { ModelCard } from '#core/model-card.ts'
import type { ModelListing } from '../format.ts'

const PAGE_SIZE_DEFAULT = 50
const PAGE_SIZE_MAX = 1_000

/** What the gateway answers for a chat model under its name. */
const CHAT_METHODS = ['generateContent', 'streamGenerateContent', 'countTokens']

/** Documentation of one model. */
export const ModelRecord = Type.Object({
  name: Type.String({ description: '`models/` and the id' }),
  displayName: Type.String(),
  inputTokenLimit: Type.Optional(Type.Integer()),
  outputTokenLimit: Type.Optional(Type.Integer()),
  supportedGenerationMethods: Type.Array(Type.String()),
})

/** Documentation of a page of them. */
export const ModelPage = Type.Object({
  models: Type.Array(ModelRecord),
  nextPageToken: Type.Optional(Type.String({ description: 'Absent on the last page' })),
})

/** Gemini API reference, "Models". */
export const modelListing: ModelListing = Object.freeze({ encodeModel, encodeModels })

function encodeModel(model: ModelCard): Record<string, unknown> {
  const { id, name, description, isChat, contextLength, maxOutputTokens } = model
  return {
    name: `models/${id}`,
    baseModelId: id,
    version: '',
    displayName: name,
    ...(description !== undefined && { description }),
    ...(contextLength !== undefined && { inputTokenLimit: contextLength }),
    ...(maxOutputTokens !== undefined && { outputTokenLimit: maxOutputTokens }),
    supportedGenerationMethods: isChat ? CHAT_METHODS : [],
  }
}

/** A page of `pageSize` models. A page's token is the id of the model before it. */
function encodeModels(models: readonly ModelCard[], query: URLSearchParams): Record<string, unknown> {
  const start = startOf(models, query.get('pageToken'))
  const page = models.slice(start, start + pageSizeOf(query))
  const last = page.at(-1)
  const hasMore = last !== undefined && last !== models.at(-1)
  return {
    models: page.map(encodeModel),
    ...(hasMore && { nextPageToken: Buffer.from(last.id).toString('base64url') }),
  }
}

function startOf(models: readonly ModelCard[], token: string | null): number {
  if (token === null || token === '') return 0
  const id = Buffer.from(token, 'base64url').toString()
  const place = models.findIndex(model => model.id === id)
  if (place !== -1) return place + 1
  throw new Fault('invalid_request', '`pageToken` must be the nextPageToken of an earlier page.', {
    param: 'pageToken',
  })
}

/** The API takes any size and gives no more than its most. */
function pageSizeOf(query: URLSearchParams): number {
  const size = Number(query.get('pageSize') ?? PAGE_SIZE_DEFAULT)
  if (Number.isInteger(size) && size >= 0) return Math.min(size || PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX)
  throw new Fault('invalid_request', '`pageSize` must be a whole number.', { param: 'pageSize' })
}
