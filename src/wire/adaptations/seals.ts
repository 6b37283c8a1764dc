import type { Message } from '#core/call.ts'
import type { Adapt } from '../adaptation.ts'
import { openSeals } from './open-seals.ts'
import { sealEvents } from './seal-events.ts'
import { sealParts } from './seal-parts.ts'

/**
 * Vendors seal what their models thought, and want the seal back unchanged while the model goes on with that thought;
 * another vendor refuses it. So a seal that crosses formats says on its way to the client who made it
 * (`seal-envelope.ts`), and goes on to no one else when it comes back. One that comes bare was made in the client's
 * own format.
 */
export const adaptSeals: Adapt = (call, sides) => {
  const warnings = new Set<string>()
  const messages = call.messages.flatMap((message): Message[] => {
    const parts = openSeals(message.parts, sides, warning => warnings.add(warning))
    // Nothing was said but what another vendor sealed.
    return parts.length === 0 && message.parts.length > 0 ? [] : [{ ...message, parts }]
  })
  const opened = { call: { ...call, messages }, warnings: [...warnings] }
  // A client of the upstream's own format knows its seals as they are.
  if (sides.client === sides.upstream) return opened
  return {
    ...opened,
    adaptResult: result => ({
      ...result,
      choices: result.choices.map(choice => ({ ...choice, parts: sealParts(choice.parts, sides) })),
    }),
    adaptEvents: () => sealEvents(sides),
  }
}
