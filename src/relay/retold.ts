import type { Model, Offer } from '#catalog/catalog.ts'
import type { Fault } from '#core/fault.ts'

/** An upstream's words with the model's name as the client knows it. */
export function retold(fault: Fault, { upstreamModel }: Offer, { id }: Model): Fault {
  if (!fault.upstream || upstreamModel === id || !fault.message.includes(upstreamModel)) return fault
  return fault.with({ message: fault.message.replaceAll(upstreamModel, id) })
}
