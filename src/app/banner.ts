import type { Credentials } from './bootstrap.ts'
import type { Environment } from './config/environment.ts'
import type { Foundation } from './foundation.ts'

export interface BannerInput {
  readonly baseUrl: string
  readonly environment: Environment
  readonly foundation: Pick<Foundation, 'firstCredentials' | 'sandboxUrl'>
  readonly credentials: Credentials | undefined
  readonly seconds: number
}

/** What a person at a terminal should know once Tollgate is up: where it is, and on the first start how to call it. */
export function banner({ baseUrl, environment, foundation, credentials, seconds }: BannerInput): string {
  const lines = [`Tollgate is ready at ${baseUrl} (${seconds.toFixed(1)} s)`, `API reference: ${baseUrl}/docs`]
  const model = foundation.sandboxUrl === undefined ? '<model>' : 'sandbox-chat'
  if (foundation.sandboxUrl !== undefined) {
    lines.push('No channel is configured, so the built-in sandbox answers. Real providers: see README.md.')
  }
  if (credentials && foundation.firstCredentials)
    lines.push('', ...firstSteps(baseUrl, environment, credentials, model))
  else if (credentials) lines.push(`API key and management token: ${environment.dataFolder}/credentials.json`)
  return `\n${lines.join('\n')}\n\n`
}

function firstSteps(baseUrl: string, { dataFolder }: Environment, credentials: Credentials, model: string): string[] {
  return [
    'Organization "default" has been created. These are shown once, and kept in',
    `${dataFolder}/credentials.json:`,
    '',
    `  API key           ${credentials.api_key}`,
    `  Management token  ${credentials.management_token}`,
    '',
    'A first answer:',
    '',
    `  curl ${baseUrl}/v1/chat/completions \\`,
    `    -H "Authorization: Bearer ${credentials.api_key}" \\`,
    `    -H "Content-Type: application/json" \\`,
    `    -d '{"model":"${model}","messages":[{"role":"user","content":"Hello!"}]}'`,
    '',
    'and what it cost:',
    '',
    `  curl ${baseUrl}/v1/management/api-keys/${credentials.api_key_id}/usage \\`,
    `    -H "Authorization: Bearer ${credentials.management_token}"`,
  ]
}
