import type { StreamCodec } from '#core/work.ts'
import { UnframedStream } from './aws-event-stream/unframed-stream.ts'

/** What the events of a stream travel in. */
export type Framing = 'server-sent-events' | 'aws-event-stream'

interface FramingKind {
  /** What to ask an upstream for. */
  readonly contentType: string
  /** A codec that takes this framing, around one that takes server-sent events, as the codecs of all formats do. */
  unframe(codec: StreamCodec): StreamCodec
}

export const FRAMINGS: Readonly<Record<Framing, FramingKind>> = Object.freeze({
  'server-sent-events': { contentType: 'text/event-stream', unframe: (codec: StreamCodec) => codec },
  'aws-event-stream': {
    contentType: 'application/vnd.amazon.eventstream',
    unframe: (codec: StreamCodec) => new UnframedStream(codec),
  },
})
