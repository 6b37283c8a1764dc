import type { Gateway } from './gateway.ts'

export interface ManagementAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: what it holds is what tests assert
  readonly body: any
}

/** Asks the control plane as the holder of a management token. */
export async function manage(
  gateway: Gateway,
  method: string,
  path: string,
  { body, key = gateway.managementToken }: { body?: unknown; key?: string | null } = {},
): Promise<ManagementAnswer> {
  const response = await gateway.fetch(`/v1/management/${path}`, {
    method,
    key,
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json() }
}
