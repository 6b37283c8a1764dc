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
  readonly warnings: readonly string[]
}

interface HostSettings {
  /** Trials that the host knows, where the operator says so: clients name others too, and a host may refuse them. */
  readonly betas?: readonly string[]
}

/** Puts requests of the format as a host wants them. Every byte of what stays is kept. */
export function hostedMessages(dialect: HostedDialect): (request: Request, settings: HostSettings) => Request {
  const { version, inAddress } = dialect
  return ({ body, headers, warnings }, { betas: known }) => {
    const { 'anthropic-version': _version, 'anthropic-beta': header, ...kept } = headers
    const named = header?.split(/\s*,\s*/) ?? []
    const betas = named.filter(beta => known?.includes(beta) ?? true)
    const isInBody = dialect.betas === 'body' && betas.length > 0
    const isReplaced = new Set<string>([...inAddress, 'anthropic_version', ...(isInBody ? ['anthropic_beta'] : [])])
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
    const members = scanMembers(bytes)
    const spans = members.map(({ start, valueEnd }) => ({ start, end: valueEnd }))
    return {
      body: applyEdits(bytes, [
        ...removeSpans(spans, index => isReplaced.has(members[index]?.key ?? '')),
        addMember(bytes, 'anthropic_version', JSON.stringify(version)),
        ...(isInBody ? [addMember(bytes, 'anthropic_beta', JSON.stringify(betas))] : []),
      ]),
      headers: betas.length > 0 && !isInBody ? { ...kept, 'anthropic-beta': betas.join(',') } : kept,
      warnings: [...warnings, ...named.filter(beta => !betas.includes(beta)).map(untold)],
    }
  }
}

function untold(beta: string): string {
  return `the trial ${beta} is not offered by this provider`
}
