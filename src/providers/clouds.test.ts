import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { baseUrlOf, type Provider } from './provider.ts'
import { PROVIDERS } from './registry.ts'

function addressOf(name: string, settings: Record<string, unknown>, baseUrl?: string): string {
  return baseUrlOf(PROVIDERS.get(name) as Provider, { baseUrl, settings })
}

describe('the address of a cloud', () => {
  it('follows what the channel says of the place', () => {
    assert.equal(addressOf('azure-openai', { resource: 'mine' }), 'https://mine.openai.azure.com')
    const bedrock = (region: string) => addressOf('bedrock', { aws: { region } })
    assert.equal(bedrock('eu-central-1'), 'https://bedrock-runtime.eu-central-1.amazonaws.com')
    assert.equal(bedrock('cn-north-1'), 'https://bedrock-runtime.cn-north-1.amazonaws.com.cn')
    assert.equal(addressOf('vertex', {}), 'https://aiplatform.googleapis.com')
    assert.equal(addressOf('vertex', { location: 'global' }), 'https://aiplatform.googleapis.com')
    assert.equal(addressOf('vertex', { location: 'eu' }), 'https://aiplatform.eu.rep.googleapis.com')
    assert.equal(addressOf('vertex', { location: 'us-east5' }), 'https://us-east5-aiplatform.googleapis.com')
  })

  it('is the channel’s own where it gives one', () => {
    const settings = { aws: { region: 'eu-central-1' } }
    assert.equal(addressOf('bedrock', settings, 'https://vpce.example/'), 'https://vpce.example')
  })
})
