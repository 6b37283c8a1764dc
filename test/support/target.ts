import type { RoutingInfo, Target } from '#core/work.ts'

/** An upstream that calls models `upstream-model` and shows clients `public-model`. */
export function target(fields: Partial<Target> = {}): Target {
  return {
    format: 'chat-completions',
    upstreamModel: 'upstream-model',
    publicModel: 'public-model',
    quirks: {},
    routing: undefined,
    ...fields,
  }
}

export const ROUTING: RoutingInfo = {
  channel: { id: 'main', name: 'Main', provider: 'openai', channelType: 'PLATFORM' },
  cached: false,
  retryCount: 0,
}
