import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, it } from 'node:test'
import { PROVIDERS } from '#providers/registry.ts'
import { ConfigError } from './config-error.ts'
import { inspectConfig } from './load.ts'

function inspect(channel: string): ReturnType<typeof inspectConfig> {
  return inspectConfig(`channels:\n  - ${channel}\n`, 'tollgate.yaml', { providers: PROVIDERS, variables: {} })
}

function problemOf(channel: string): string {
  try {
    return inspect(channel)
      .problems.map(({ place, message }) => `${place}: ${message}`)
      .join('\n')
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.message
  }
}

describe('what a channel says in its provider’s words', () => {
  it('is kept with the channel', () => {
    const { catalog } = inspect('{ id: a, provider: bedrock, aws: { region: us-east-1 }, tier: verified }').config
    assert.deepEqual(catalog.channels.get('a')?.settings, { aws: { region: 'us-east-1' } })
  })

  it('is refused by name and line where the provider does not know it', () => {
    const cases = [
      [
        '{ id: a, provider: openai, aws: { region: us-east-1 } }',
        'tollgate.yaml:2: channels[0].aws is not a known field',
      ],
      ['{ id: a, provider: bedrock }', 'tollgate.yaml:2: channels[0].aws is required'],
      ['{ id: a, provider: bedrock, aws: {} }', 'tollgate.yaml:2: channels[0].aws.region is required'],
      [
        '{ id: a, provider: bedrock, aws: { region: us-east-1, acces_key_id: x } }',
        'tollgate.yaml:2: channels[0].aws.acces_key_id is not a known field',
      ],
      ['{ id: a, provider: nowhere }', 'there is no provider "nowhere"'],
    ] as const
    for (const [channel, problem] of cases) assert.ok(problemOf(channel).includes(problem), problemOf(channel))
  })

  it('is refused where it makes no sense together, with what to do', () => {
    const cases = [
      [
        '{ id: a, provider: bedrock, aws: { region: us-east-1, access_key_id: x } }',
        'channel "a" needs both aws.access_key_id and aws.secret_access_key, or neither',
      ],
      [
        '{ id: a, provider: bedrock, api_key: x, aws: { region: us-east-1, profile: y } }',
        'channel "a" has api_key and aws.profile; keep one',
      ],
      ['{ id: a, provider: azure-openai, api_key: x }', 'channel "a" needs resource or base_url'],
      ['{ id: a, provider: azure-openai, resource: r }', 'channel "a" needs either api_key or entra'],
      [
        '{ id: a, provider: azure-openai, api_key: x, base_url: "https://r.openai.azure.com/openai/v1" }',
        'channel "a" has a base_url with the path of the API; end it before /openai',
      ],
      ['{ id: a, provider: vertex }', 'channel "a" needs project, unless it has an api_key of express mode'],
      [
        '{ id: a, provider: vertex, project: p, service_account: { json: nonsense } }',
        'channel "a" has a service_account.json that is no JSON',
      ],
    ] as const
    for (const [channel, problem] of cases) assert.equal(problemOf(channel), `tollgate.yaml:2: ${problem}`)
  })
})

describe('docs/providers.md', () => {
  it('shows configurations that work as they stand', async () => {
    const text = await readFile(path.resolve(import.meta.dirname, '../../../docs/providers.md'), 'utf8')
    const examples = [...text.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, example = '']) => example)
    assert.ok(examples.length >= 3)
    const variables = new Proxy({}, { get: () => 'some-value' })
    for (const example of examples) {
      assert.deepEqual(inspectConfig(example, 'example', { providers: PROVIDERS, variables }).problems, [])
    }
  })
})
