import { addMember, applyEdits, removeSpans } from '../json/edit.ts'
import { scanMembers } from '../json/members.ts'

/** How a cloud wants a request for Claude, where that is not as Anthropic's own API has it. */
export interface HostedDialect {
  /** What the host calls the version of the format; it stands in the body. */
  readonly version: string
  /** Members that the address says in place of the body. */
  readonly inAddress: readonly ('model' | 'stream')[]
  /** Where trials of the API are named: in a header, as at Anthropic, or in the body. */
  readonly betas: 'header' | 'body'
}

interface Request {
  readonly body: Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

/** Puts requests of the format as a host wants them. Every byte of what stays is kept. */
export function hostedMessages({ version, inAddress, betas }: HostedDialect): (request: Request) => Request {
  return ({ body, headers }) => {
    const { 'anthropic-version': _version, 'anthropic-beta': beta, ...kept } = headers
    const isInBody = beta !== undefined && betas === 'body'
    const isReplaced = new Set<string>([...inAddress, 'anthropic_version', ...(isInBody ? ['anthropic_beta'] : [])])
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
    const members = scanMembers(bytes)
    const spans = members.map(({ start, valueEnd }) => ({ start, end: valueEnd }))
    return {
      body: applyEdits(bytes, [
        ...removeSpans(spans, index => isReplaced.has(members[index]?.key ?? '')),
        addMember(bytes, 'anthropic_version', JSON.stringify(version)),
        ...(isInBody ? [addMember(bytes, 'anthropic_beta', JSON.stringify(beta.split(/\s*,\s*/)))] : []),
      ]),
      headers: beta !== undefined && !isInBody ? { ...kept, 'anthropic-beta': beta } : kept,
    }
  }
}
