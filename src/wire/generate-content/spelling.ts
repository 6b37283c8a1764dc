import { isObject } from '../json/parse.ts'

/** What callers write inside these is their own affair: names of arguments, of schema properties, of labels. */
const VERBATIM = new Set([
  'args',
  'response',
  'partialArgs',
  'parameters',
  'parametersJsonSchema',
  'responseJsonSchema',
  'responseSchema',
  'labels',
  'partMetadata',
])

/** Names of the format that consist of several words: Google's JSON parser takes each in camel and in snake case. */
const CAMEL_NAMES = [
  ...VERBATIM,
  'allowedFunctionNames',
  'audioTimestamp',
  'aspectRatio',
  'blockReason',
  'cachedContent',
  'candidateCount',
  'codeExecution',
  'codeExecutionResult',
  'computerUse',
  'displayName',
  'enableEnhancedCivicAnswers',
  'endOffset',
  'executableCode',
  'fileData',
  'fileSearch',
  'fileUri',
  'frequencyPenalty',
  'functionCall',
  'functionCallingConfig',
  'functionDeclarations',
  'functionResponse',
  'generationConfig',
  'googleMaps',
  'googleSearch',
  'googleSearchRetrieval',
  'imageConfig',
  'imageSize',
  'includeThoughts',
  'inlineData',
  'languageCode',
  'maxOutputTokens',
  'mediaResolution',
  'mimeType',
  'multiSpeakerVoiceConfig',
  'prebuiltVoiceConfig',
  'presencePenalty',
  'responseLogprobs',
  'responseMimeType',
  'responseModalities',
  'retrievalConfig',
  'safetySettings',
  'speakerVoiceConfigs',
  'speechConfig',
  'startOffset',
  'stopSequences',
  'streamFunctionCallArguments',
  'systemInstruction',
  'thinkingBudget',
  'thinkingConfig',
  'thinkingLevel',
  'thoughtSignature',
  'toolConfig',
  'topK',
  'topP',
  'urlContext',
  'videoMetadata',
  'voiceConfig',
  'voiceName',
  'willContinue',
] as const

const CAMEL_BY_SNAKE: ReadonlyMap<string, string> = new Map(
  CAMEL_NAMES.map(name => [name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`), name]),
)

/**
 * `value` with the format's own names in camel case, however they were written. Other names stay, and so does all that
 * lies where names are the caller's. The value itself when nothing had to change, which is the usual case.
 */
export function inCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return changedItems(value) ?? value
  if (!isObject(value)) return value
  let hasChanged = false
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
    const name = CAMEL_BY_SNAKE.get(key) ?? key
    const renamed = VERBATIM.has(name) ? inner : inCamelCase(inner)
    if (name !== key || renamed !== inner) hasChanged = true
    return [name, renamed]
  })
  return hasChanged ? Object.fromEntries(entries) : value
}

function changedItems(items: readonly unknown[]): unknown[] | undefined {
  const renamed = items.map(inCamelCase)
  return renamed.some((item, i) => item !== items[i]) ? renamed : undefined
}
