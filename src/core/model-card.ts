/** What a client may know of a model, in no format's words. */
export interface ModelCard {
  readonly id: string
  /** For people; the id where nobody gave one. */
  readonly name: string
  readonly description: string | undefined
  /** Unix seconds; 0 when unknown. */
  readonly createdAt: number
  /** Answers at the chat endpoints. */
  readonly isChat: boolean
  readonly contextLength: number | undefined
  readonly maxOutputTokens: number | undefined
}
