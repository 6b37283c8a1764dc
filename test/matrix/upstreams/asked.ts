import type { AnswerSchema, Effort, Image, Tool, ToolCall, ToolChoice } from '../conversation.ts'

/** What an upstream was asked, read in its own terms and told in no format's. */
export interface Asked {
  readonly model: string
  readonly isStream: boolean
  readonly system: string | undefined
  /** Neighbours of one side are one turn: formats differ in where they cut. */
  readonly turns: readonly AskedTurn[]
  readonly tools: readonly Tool[] | undefined
  readonly toolChoice: ToolChoice | undefined
  readonly schema: AnswerSchema['schema'] | undefined
  readonly stop: readonly string[] | undefined
  readonly effort: Effort | undefined
  readonly maxTokens: number | undefined
}

/** Only what there is stands in a turn. */
export interface AskedTurn {
  readonly by: 'user' | 'model'
  readonly text?: string
  readonly images?: readonly Image[]
  readonly thoughts?: readonly { readonly text: string; readonly seal?: string }[]
  readonly calls?: readonly (ToolCall & { readonly seal?: string })[]
  readonly results?: readonly AskedResult[]
}

export interface AskedResult {
  /** The call that it was matched with by its id. */
  readonly to: ToolCall | undefined
  readonly text: string
}

type Piece = Omit<AskedTurn, 'by'>

/** Gathers turns from messages, items or contents, and knows which result belongs to which call. */
export class TurnReader {
  readonly turns: AskedTurn[] = []
  readonly #calls = new Map<string, ToolCall>()

  add(by: AskedTurn['by'], { text, ...lists }: Piece): void {
    const last = this.turns.at(-1)
    const before: AskedTurn = last?.by === by ? last : { by }
    const merged: Record<string, unknown> = { ...before }
    if (text) merged.text = (before.text ?? '') + text
    for (const [name, list] of Object.entries(lists) as [keyof typeof lists, readonly unknown[]][]) {
      if (list.length > 0) merged[name] = [...(before[name] ?? []), ...list]
    }
    if (last?.by === by) this.turns.pop()
    this.turns.push(merged as unknown as AskedTurn)
  }

  /** @returns the call itself, whose id is remembered */
  call(id: string, call: ToolCall & { readonly seal?: string }): ToolCall & { readonly seal?: string } {
    this.#calls.set(id, { name: call.name, arguments: call.arguments })
    return call
  }

  result(id: string, text: string): AskedResult {
    return { to: this.#calls.get(id), text }
  }
}

/** `https:` as it is, `data:` taken apart. */
export function readImageUrl(url: string): Image {
  const inline = /^data:([^;]+);base64,(.*)$/s.exec(url)
  return inline ? { kind: 'base64', mediaType: inline[1] ?? '', data: inline[2] ?? '' } : { kind: 'url', url }
}
