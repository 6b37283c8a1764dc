import type { Effort, Image, ToolChoice } from '../conversation.ts'
import { type AskedTurn, TurnReader } from './asked.ts'
import type { Dialect, Json } from './dialect.ts'

const PATH = /^\/v1beta\/models\/([^:]+):(generateContent|streamGenerateContent\?alt=sse)$/

export const generateContent: Dialect = {
  format: 'generate-content',
  provider: 'google',
  basePath: '/v1beta',
  path: PATH,
  read: ({ contents, systemInstruction, tools, toolConfig, generationConfig = {} }, path) => {
    const [, model = '', action = ''] = PATH.exec(path) ?? []
    return {
      model: decodeURIComponent(model),
      isStream: action.startsWith('stream'),
      system: systemInstruction && text(systemInstruction.parts),
      turns: readTurns(contents),
      tools: tools?.[0].functionDeclarations.map(({ parametersJsonSchema: parameters, ...tool }: Json) => ({
        ...tool,
        parameters,
      })),
      toolChoice: toolConfig && readToolChoice(toolConfig.functionCallingConfig),
      schema: generationConfig.responseJsonSchema,
      stop: generationConfig.stopSequences,
      effort: generationConfig.thinkingConfig?.thinkingLevel?.toLowerCase() as Effort | undefined,
      maxTokens: generationConfig.maxOutputTokens,
    }
  },
}

const MODES: Readonly<Record<string, ToolChoice>> = { AUTO: 'auto', ANY: 'required', NONE: 'none' }

function readToolChoice({ mode, allowedFunctionNames: names }: Json): ToolChoice | undefined {
  return mode === 'ANY' && names ? { name: names.join() } : MODES[mode]
}

/** What a host takes for a signature on calls that another vendor's model made. */
export const PLACEHOLDER_SEAL = 'skip_thought_signature_validator'

function readTurns(contents: readonly Json[]) {
  const reader = new TurnReader()
  for (const { role, parts } of contents as Json[]) {
    const isThought = (part: Json) => part.thought === true
    reader.add(role === 'user' ? 'user' : 'model', {
      text: text(parts.filter((part: Json) => !isThought(part))),
      images: parts.flatMap(readImage),
      thoughts: parts.filter(isThought).map((part: Json) => ({ text: part.text, ...seal(part) })),
      calls: parts.flatMap((part: Json) => {
        const { functionCall: call } = part
        return call ? reader.call(call.id, { name: call.name, arguments: call.args, ...seal(part) }) : []
      }),
      results: parts.flatMap(({ functionResponse: result }: Json) =>
        result ? reader.result(result.id, result.response.output) : [],
      ),
    })
  }
  return reader.turns.map(turn => ({ ...turn, ...(turn.thoughts && { thoughts: joinPieces(turn.thoughts) }) }))
}

/** What was streamed comes back in pieces, of which the last has the seal of the whole. */
function joinPieces(thoughts: NonNullable<AskedTurn['thoughts']>): NonNullable<AskedTurn['thoughts']> {
  const joined: { text: string; seal?: string }[] = []
  for (const thought of thoughts) {
    const last = joined.at(-1)
    if (last && last.seal === undefined) joined.splice(-1, 1, { ...thought, text: last.text + thought.text })
    else joined.push(thought)
  }
  return joined
}

function seal({ thoughtSignature }: Json): { seal?: string } {
  return thoughtSignature === undefined ? {} : { seal: thoughtSignature }
}

function readImage({ inlineData, fileData }: Json): Image[] {
  if (inlineData) return [{ kind: 'base64', mediaType: inlineData.mimeType, data: inlineData.data }]
  return fileData ? [{ kind: 'url', url: fileData.fileUri }] : []
}

function text(parts: readonly Json[]): string {
  return parts.map(part => part.text ?? '').join('')
}
