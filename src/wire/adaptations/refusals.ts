import type { Call, Part, Source } from '#core/call.ts'
import { Fault } from '#core/fault.ts'
import type { Adapt, Sides } from '../adaptation.ts'
import type { FormatName } from '../format.ts'

/** Something that an answer would be another one without, and what a client calls it in its own format. */
interface Demand {
  readonly param: Readonly<Partial<Record<FormatName, string>>> & { readonly 'chat-completions': string }
  /** Whether the call asks for it and the upstream cannot give it. */
  isUnmet(call: Call, sides: Sides): boolean
  readonly reason: string
}

const DEMANDS: readonly Demand[] = Object.freeze([
  {
    param: { 'chat-completions': 'n', 'generate-content': 'generationConfig.candidateCount' },
    isUnmet: ({ choices = 1 }, { upstream }) => choices > 1 && !GIVES_CHOICES.has(upstream),
    reason: 'it gives one answer to a request',
  },
  {
    param: { 'chat-completions': 'modalities', 'generate-content': 'generationConfig.responseModalities' },
    isUnmet: ({ modalities = [] }, { upstream }) =>
      modalities.some(each => each !== 'text') && !GIVES_MEDIA.has(upstream),
    reason: 'it answers in text alone',
  },
  {
    param: { 'chat-completions': 'input_audio', responses: 'input_audio', 'generate-content': 'inlineData' },
    isUnmet: (call, { upstream }) => sourcesOf(call, 'audio').some(({ source }) => !HEARS[upstream](source)),
    reason: 'it cannot hear',
  },
  {
    param: {
      'chat-completions': 'file_id',
      responses: 'file_id',
      messages: 'file_id',
      'generate-content': 'fileData.fileUri',
    },
    isUnmet: (call, sides) =>
      MEDIA.flatMap(type => sourcesOf(call, type)).some(
        ({ source, type }) => source.kind === 'file' && !isReachable(type, sides),
      ),
    reason: 'its provider does not keep that file, so send what is in it',
  },
] satisfies Demand[])

const GIVES_CHOICES: ReadonlySet<FormatName> = new Set<FormatName>(['chat-completions', 'generate-content'])
const GIVES_MEDIA: ReadonlySet<FormatName> = new Set<FormatName>(['chat-completions', 'generate-content'])

const HEARS: Readonly<Record<FormatName, (source: Source) => boolean>> = Object.freeze({
  'chat-completions': ({ kind }) => kind === 'base64',
  responses: ({ kind }) => kind === 'base64',
  messages: () => false,
  'generate-content': () => true,
})

const MEDIA = ['image', 'audio', 'video', 'document'] as const
type MediaPart = Extract<Part, { source: Source }>

/** Formats of one vendor, whose files are known in each; chat-completions has no word for an image's. */
const FILE_OWNERS: Readonly<Record<FormatName, string>> = Object.freeze({
  'chat-completions': 'openai',
  responses: 'openai',
  messages: 'anthropic',
  'generate-content': 'google',
})

function isReachable(type: MediaPart['type'], { client, upstream }: Sides): boolean {
  return FILE_OWNERS[client] === FILE_OWNERS[upstream] && !(upstream === 'chat-completions' && type !== 'document')
}

/** Media of one type, also those in results of tools. What is told in words beside a sound needs no ear. */
function sourcesOf(call: Call, type: MediaPart['type']): MediaPart[] {
  const parts = call.messages.flatMap(message => message.parts)
  const all = parts.flatMap(part => (part.type === 'tool-result' ? part.parts : [part]))
  return all.filter((part): part is MediaPart => part.type === type && !('transcript' in part && part.transcript))
}

/**
 * Refuses, in the client's own words and before anything is sent, what would give another answer if it were left out.
 *
 * @throws Fault `unsupported_parameter`
 */
export const refuseDemands: Adapt = (call, sides) => {
  for (const { param, isUnmet, reason } of DEMANDS) {
    if (!isUnmet(call, sides)) continue
    const name = param[sides.client] ?? param['chat-completions']
    throw new Fault('unsupported_parameter', `\`${name}\` does not work with this model: ${reason}.`, { param: name })
  }
  return { call }
}
