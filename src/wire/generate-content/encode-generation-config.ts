import type { Call, OutputFormat, ReasoningControl } from '#core/call.ts'
import type { Quirks } from '#core/work.ts'
import { isObject } from '../json/parse.ts'
import type { Warn } from '../losses.ts'
import type { Json } from './encode-parts.ts'
import { toSchemaSubset } from './json-schema.ts'

/** `generationConfig`, with what only this format knows of it. */
export function encodeGenerationConfig(call: Call, extra: Json, quirks: Quirks, warn: Warn): Json | undefined {
  const thinking = call.reasoning ? encodeReasoning(call.reasoning, quirks, warn) : {}
  return unlessEmpty(
    withoutUndefined({
      ...extra,
      maxOutputTokens: call.maxOutputTokens,
      temperature: call.temperature,
      topP: call.topP,
      topK: call.topK,
      presencePenalty: call.presencePenalty,
      frequencyPenalty: call.frequencyPenalty,
      seed: call.seed,
      stopSequences: call.stop,
      candidateCount: call.choices,
      responseLogprobs: call.topLogprobs === undefined ? undefined : true,
      logprobs: call.topLogprobs || undefined,
      responseModalities: call.modalities?.map(modality => modality.toUpperCase()),
      ...encodeSpeech(call.audioOutput, warn),
      ...encodeOutput(call.output, quirks),
      thinkingConfig: unlessEmpty({ ...asObject(extra.thinkingConfig), ...thinking }),
    }),
  )
}

/** A schema's name is a label that no model needs. */
function encodeOutput(output: OutputFormat | undefined, quirks: Quirks): Json {
  if (output === undefined) return {}
  if (output.type !== 'json-schema')
    return { responseMimeType: output.type === 'json' ? 'application/json' : 'text/plain' }
  const schema =
    quirks.jsonSchemas === false
      ? { responseSchema: toSchemaSubset(output.schema) }
      : { responseJsonSchema: output.schema }
  return { responseMimeType: 'application/json', ...schema }
}

function encodeSpeech(audio: Call['audioOutput'], warn: Warn): Json {
  if (audio === undefined) return {}
  if (audio.format !== 'pcm16') warn(`audio as ${audio.format}`)
  if (typeof audio.voice === 'string') {
    return { speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: audio.voice } } } }
  }
  warn('a voice of this kind')
  return {}
}

/** Levels by effort, and the thinking tokens that Google gives them where a model takes only a number. */
const EFFORTS: Readonly<Record<string, { readonly level: string; readonly budget: number }>> = Object.freeze({
  minimal: { level: 'MINIMAL', budget: 1_024 },
  low: { level: 'LOW', budget: 1_024 },
  medium: { level: 'MEDIUM', budget: 8_192 },
  high: { level: 'HIGH', budget: 24_576 },
  xhigh: { level: 'HIGH', budget: 24_576 },
  max: { level: 'HIGH', budget: 24_576 },
})

function encodeReasoning(reasoning: ReasoningControl, quirks: Quirks, warn: Warn): Json {
  const { effort, budgetTokens, isShown } = reasoning
  const shown = isShown === undefined ? {} : { includeThoughts: isShown }
  if (budgetTokens !== undefined) {
    // Both at once are refused.
    if (effort !== undefined) warn('a reasoning effort beside a budget')
    return { ...shown, thinkingBudget: budgetTokens }
  }
  if (effort === undefined) return shown
  if (effort === 'none') return { ...shown, thinkingBudget: 0 }
  const known = Object.hasOwn(EFFORTS, effort) ? EFFORTS[effort] : undefined
  if (known?.level.toLowerCase() !== effort) warn(`reasoning effort ${effort}`)
  if (known === undefined) return shown
  return {
    ...shown,
    ...(quirks.thinkingLevels === false ? { thinkingBudget: known.budget } : { thinkingLevel: known.level }),
  }
}

export function withoutUndefined(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

export function unlessEmpty(fields: Json): Json | undefined {
  return Object.keys(fields).length === 0 ? undefined : fields
}

export function asObject(value: unknown): Json {
  return isObject(value) ? value : {}
}
