import type { Channel } from '#catalog/catalog.ts'
import type { OutboundClient } from '#http/outbound/client.ts'
import type { OutboundFailure } from '#http/outbound/failure.ts'
import { baseUrlOf, bySettings, type Provider } from '#providers/provider.ts'
import type { OpenProviderKey, TestOutcome } from '#tenants/provider-keys/provider-key.ts'

export interface ProbeDeps {
  readonly outbound: OutboundClient
  readonly providers: ReadonlyMap<string, Provider>
}

export interface ProbeResult {
  readonly outcome: TestOutcome
  /** Of the provider's answer, where there was one. */
  readonly status?: number
  /** A sentence for the key's owner. */
  readonly detail: string
}

const TIMEOUTS: Channel['timeouts'] = Object.freeze({ connectMs: 5_000, firstByteMs: 10_000, idleMs: 10_000 })

const NO_SETTINGS = Object.freeze({})

/** Asks a key's provider, at no cost, whether it takes the key. */
export async function probeProviderKey(
  { outbound, providers }: ProbeDeps,
  { id, provider: name, baseUrl, secret }: OpenProviderKey,
): Promise<ProbeResult> {
  const provider = providers.get(name)
  if (!provider) return { outcome: 'untestable', detail: `There is no provider "${name}" here any more.` }
  if (secret === undefined) {
    return { outcome: 'failed', detail: 'What is stored of the key cannot be read; give it another secret.' }
  }
  const probePath = bySettings(provider.probePath, NO_SETTINGS)
  if (probePath === undefined)
    return { outcome: 'untestable', detail: 'Nothing can be asked of this provider for free.' }
  const url = new URL(baseUrlOf(provider, { baseUrl, settings: NO_SETTINGS }) + probePath)
  const authorization = provider.auth(secret, NO_SETTINGS, { failed: () => {} })
  const request = { method: 'GET', url, headers: { 'user-agent': 'tollgate' } } as const
  const presented = typeof authorization === 'function' ? authorization(request) : authorization
  const headers = Promise.resolve(presented).then(credential => ({ ...request.headers, ...credential }))
  const answer = await new Promise<number | OutboundFailure>(resolve => {
    const outgoing = outbound.send(
      {
        method: request.method,
        url,
        headers,
        scope: id,
        isGuarded: baseUrl !== undefined,
        timeouts: TIMEOUTS,
      },
      {
        started: status => {
          resolve(status)
          outgoing.abort()
        },
        data: () => {},
        ended: () => {},
        failed: resolve,
      },
    )
  })
  return typeof answer === 'number' ? judge(answer) : { outcome: 'unreachable', detail: UNREACHABLE[answer.kind] }
}

/** Google answers 400 to a key that it does not know, and there is nothing else in this request to be at fault. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403])

function judge(status: number): ProbeResult {
  if (status >= 200 && status < 300) return { outcome: 'ok', status, detail: 'The provider takes the key.' }
  if (REFUSALS.has(status)) return { outcome: 'refused', status, detail: 'The provider refuses the key.' }
  return { outcome: 'failed', status, detail: `The provider answers ${status}, which says nothing about the key.` }
}

const UNREACHABLE: Readonly<Record<OutboundFailure['kind'], string>> = Object.freeze({
  forbidden: 'The base_url leads where this gateway may not go; it has to be https and lead to public addresses.',
  credential: 'Nothing could be made of the secret that the provider would take.',
  connect: 'No connection could be made.',
  'connect-timeout': 'No connection could be made in time.',
  'first-byte-timeout': 'There was no answer in time.',
  'idle-timeout': 'There was no answer in time.',
  cut: 'The connection was cut.',
  malformed: 'The answer was not HTTP.',
})
