import { Fault } from '#core/fault.ts'
import { type Validator, validator } from '#core/validate.ts'
import { isObject } from '../json/parse.ts'
import { sniffMediaType } from './media.ts'
import { GenerateContentRequest } from './schema.ts'
import { inCamelCase } from './spelling.ts'

const validate: Validator<GenerateContentRequest> = validator(GenerateContentRequest)

/**
 * A client's request in the format's own spelling, checked for what no upstream could serve (spec, Generative-content
 * native request).
 *
 * @throws Fault `invalid_request` naming the field
 */
export function readBody(body: unknown): GenerateContentRequest {
  const request = inCamelCase(body)
  validate(request)
  checkCandidates(request)
  checkImageTools(request)
  checkMedia(request)
  return request
}

function refuse(param: string, problem: string): never {
  throw new Fault('invalid_request', `\`${param}\` ${problem}.`, { param })
}

function checkCandidates({ stream, generationConfig }: GenerateContentRequest): void {
  if (stream !== true || (generationConfig?.candidateCount ?? 1) === 1) return
  refuse('generationConfig.candidateCount', 'must be 1 in a stream')
}

/** The tools that go together with images for output. */
const IMAGE_TOOLS = new Set(['googleSearch', 'googleSearchRetrieval', 'googleMaps'])

function checkImageTools({ generationConfig, tools }: GenerateContentRequest): void {
  if (!generationConfig?.responseModalities?.some(modality => modality.toUpperCase() === 'IMAGE')) return
  const index = tools?.findIndex(tool => Object.keys(tool).some(key => !IMAGE_TOOLS.has(key))) ?? -1
  if (index >= 0) refuse(`tools[${index}]`, 'cannot be used for image output; only search and maps can')
}

const UNTYPED = 'application/octet-stream'

function checkMedia({ contents }: GenerateContentRequest): void {
  for (const [i, { parts }] of contents.entries()) {
    for (const [j, { inlineData, fileData }] of (parts ?? []).entries()) {
      if (isObject(fileData) && !isHttps(fileData.fileUri)) {
        refuse(`contents[${i}].parts[${j}].fileData.fileUri`, 'must be a public https URL')
      }
      if (!isObject(inlineData) || inlineData.mimeType !== UNTYPED) continue
      if (/^(?:image|video)\//.test(sniffMediaType(inlineData.data) ?? '')) continue
      refuse(
        `contents[${i}].parts[${j}].inlineData`,
        'is neither an image nor a video that is known; name its mimeType',
      )
    }
  }
}

function isHttps(uri: unknown): boolean {
  return typeof uri === 'string' && URL.canParse(uri) && new URL(uri).protocol === 'https:'
}
