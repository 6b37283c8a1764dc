/** What kind of work a request was, as usage reports group it (spec, usage item `scene`). */
export const SCENES = [
  'chat',
  'image',
  'audio',
  'video',
  'embedding',
  'rerank',
  'translation',
  'music',
  '3d',
  'realtime',
] as const

export type Scene = (typeof SCENES)[number]

/** Whose provider account served a request: the operator's, or one that the customer brought (spec, `access_channel`). */
export const ACCESS_CHANNELS = ['platform', 'byok'] as const

export type AccessChannel = (typeof ACCESS_CHANNELS)[number]
