import type {
  AudioPart,
  DocumentPart,
  Extensions,
  ImagePart,
  OpaquePart,
  ToolCallPart,
  UrlCitation,
  VideoPart,
} from './call.ts'
import type { Fault } from './fault.ts'
import type { Finish, TokenLogprob } from './result.ts'
import type { Usage } from './usage.ts'

/**
 * A chat answer as it arrives, in no format's words. The grammar:
 *
 *     response-start ( part-start part-delta* part-end | choice-end | usage )* ( response-end | error )
 *
 * Parts of one choice never overlap; parts of different choices may. `part` numbers a choice's parts from 0. Exactly
 * one terminal event, `response-end` or `error`, and nothing after it.
 */
export type CallEvent =
  | { readonly type: 'response-start'; readonly id: string; readonly model: string; readonly createdAt: number }
  | ({
      readonly type: 'part-start'
      readonly choice: number
      readonly part: number
      readonly extensions?: Extensions | undefined
    } & PartOpening)
  | {
      readonly type: 'part-delta'
      readonly choice: number
      readonly part: number
      /** Text, a fragment of tool arguments, or base64 audio, as the part's kind says. */
      readonly text: string
      readonly logprobs?: readonly TokenLogprob[] | undefined
    }
  | {
      readonly type: 'part-end'
      readonly choice: number
      readonly part: number
      readonly citations?: readonly UrlCitation[] | undefined
      /** The seals of a thought, or the signature of a text; a tool call's is known when it begins. */
      readonly signature?: string | undefined
      readonly encrypted?: string | undefined
      readonly extensions?: Extensions | undefined
    }
  | { readonly type: 'choice-end'; readonly choice: number; readonly finish: Finish }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'response-end'; readonly extensions?: Extensions | undefined }
  | { readonly type: 'error'; readonly fault: Fault }

/** What a part is, known when it begins. */
export type PartOpening =
  | { readonly kind: 'text' | 'reasoning' | 'refusal' }
  | { readonly kind: 'audio'; readonly mediaType?: string | undefined; readonly format?: string | undefined }
  /** Comes at once: no deltas follow. */
  | { readonly kind: 'whole'; readonly value: ImagePart | AudioPart | VideoPart | DocumentPart | OpaquePart }
  | ({ readonly kind: 'tool-call' } & Pick<ToolCallPart, 'id' | 'name' | 'signature'> & {
        readonly toolKind: ToolCallPart['kind']
      })
