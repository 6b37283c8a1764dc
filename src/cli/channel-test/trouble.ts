import type { OutboundFailure } from '#http/outbound/failure.ts'
import { scrub } from '#lib/scrub.ts'

/** Why a channel did not answer, in an operator's words, and what to do about it. */
export interface Trouble {
  readonly problem: string
  readonly fix: string
}

/** The provider could not be reached, or went away. */
export function troubleOfFailure({ kind, cause }: Pick<OutboundFailure, 'kind' | 'cause'>): Trouble {
  if (kind === 'credential') return troubleOfCredential(cause)
  const { code = '', message } = cause as Error & { code?: string }
  const [, known] = CONNECTION_TROUBLES.find(([pattern]) => pattern.test(code)) ?? []
  if (known) return { problem: `${known.problem} (${code})`, fix: known.fix }
  const slow = SLOWNESS[kind]
  return slow ?? { problem: `the connection broke off: ${scrub(message)}`, fix: 'check base_url and the network' }
}

/** A credential could not be fetched or made: nothing was sent to the provider. */
export function troubleOfCredential(cause: unknown): Trouble {
  return {
    problem: `no credential: ${scrub((cause as Error).message)}`,
    fix: 'check what the channel says in place of api_key',
  }
}

/** Codes of Node and of its TLS. */
const CONNECTION_TROUBLES: readonly (readonly [RegExp, Trouble])[] = [
  [/^(ENOTFOUND|EAI_)/, { problem: 'the host has no address', fix: 'check the name in base_url, and DNS' }],
  [/^ECONNREFUSED$/, { problem: 'nobody listens there', fix: 'check the port in base_url, and that the server is up' }],
  [
    /^(EHOSTUNREACH|ENETUNREACH)$/,
    { problem: 'there is no way to the host', fix: 'check the network and its firewall' },
  ],
  [
    /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|^ERR_TLS|^ERR_SSL|^EPROTO$/,
    {
      problem: 'its TLS certificate is not accepted',
      fix: 'check https and base_url; NODE_EXTRA_CA_CERTS adds an authority',
    },
  ],
]

const SLOWNESS: Readonly<Partial<Record<OutboundFailure['kind'], Trouble>>> = Object.freeze({
  'connect-timeout': { problem: 'no connection in time', fix: 'check the network, or raise timeout.connect' },
  'first-byte-timeout': { problem: 'no answer in time', fix: 'try again, or raise timeout.first_byte' },
  'idle-timeout': { problem: 'the answer stopped half-way', fix: 'try again, or raise timeout.idle' },
})

/** The provider answered with an error. @param said its own words, as they came */
export function troubleOfStatus(status: number, said: string): Trouble {
  const [, known] = STATUS_TROUBLES.find(([statuses]) => statuses.includes(status)) ?? []
  const words = messageOf(said)
  const { problem, fix } = known ?? {
    problem: status >= 500 ? 'the provider has trouble' : 'it refuses the request',
    fix: status >= 500 ? 'see its status page' : 'as its message says; quirks tell what a host does not take',
  }
  return { problem: `${problem} (${status}${words === '' ? '' : `: ${words}`})`, fix }
}

const STATUS_TROUBLES: readonly (readonly [readonly number[], Trouble])[] = [
  [[401, 403], { problem: 'the key is refused', fix: 'check api_key, and what it may use' }],
  [[402], { problem: 'the account has no credit', fix: 'top it up at the provider' }],
  [[404], { problem: 'the model or the path is unknown there', fix: 'check upstream_model and base_url' }],
  [[429], { problem: 'its rate limit or quota is used up', fix: 'wait, or raise the limit at the provider' }],
]

/** What providers say in the body of an error, in one line and without anything that looks like a credential. */
function messageOf(body: string): string {
  let message: unknown = body
  try {
    const parsed = JSON.parse(body)
    message = parsed?.error?.message ?? parsed?.message ?? parsed?.error ?? ''
  } catch {
    // Not JSON: some proxy's page.
  }
  return scrub(typeof message === 'string' ? message.replaceAll(/\s+/g, ' ').trim() : '')
}
