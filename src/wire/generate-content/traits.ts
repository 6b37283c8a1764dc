import { beginning, type FormatTraits, needsWhere } from '../traits.ts'
import type { GenerateContentRequest, WirePart } from './schema.ts'

export function readTraits(request: GenerateContentRequest): FormatTraits {
  const { contents, systemInstruction, tools, generationConfig = {} } = request
  const parts = contents.flatMap(({ parts: own }) => own ?? [])
  const { responseModalities, responseSchema, responseJsonSchema, thinkingConfig } = (generationConfig ??
    {}) as Readable
  return {
    needs: needsWhere({
      tools: Array.isArray(tools) && tools.length > 0,
      vision: parts.some(part => mediaOf(part).startsWith('image/')),
      audio: parts.some(part => mediaOf(part).startsWith('audio/')) || asksForAudio(responseModalities),
      json_schema: isGiven(responseSchema) || isGiven(responseJsonSchema),
      reasoning: thinks(thinkingConfig),
    }),
    opening: [systemInstruction, beginning(contents, ({ role }) => role !== 'model')],
    isSealed: parts.some(({ thoughtSignature }) => isGiven(thoughtSignature)),
  }
}

interface Readable {
  readonly responseModalities?: readonly string[] | null
  readonly responseSchema?: unknown
  readonly responseJsonSchema?: unknown
  readonly thinkingConfig?: { readonly thinkingBudget?: unknown } | null
}

function mediaOf({ inlineData, fileData }: WirePart): string {
  return inlineData?.mimeType ?? fileData?.mimeType ?? ''
}

function asksForAudio(modalities: Readable['responseModalities']): boolean {
  return modalities?.some(modality => modality.toUpperCase() === 'AUDIO') === true
}

/** A budget of nothing switches thinking off. */
function thinks(config: Readable['thinkingConfig']): boolean {
  return isGiven(config) && config?.thinkingBudget !== 0
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}
