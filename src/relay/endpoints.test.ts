import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { buildCatalog } from '#catalog/build.ts'
import type { Channel } from '#catalog/catalog.ts'
import type { ChannelConfig } from '#catalog/schema.ts'
import type { Provider } from '#providers/provider.ts'
import { PROVIDERS } from '#providers/registry.ts'
import { Endpoints } from './endpoints.ts'

const PROVIDER: Provider = {
  name: 'acme',
  baseUrl: 'https://api.acme.example/v1',
  auth: () => ({}),
  probePath: '/models',
  operations: { chat: [{ format: 'chat-completions', path: '/chat/completions' }] },
  quirks: { streamOptions: false, fields: { seed: 'random_seed', store: null }, roles: { developer: 'system' } },
  modelQuirks: [{ models: /^translator-/, quirks: { translationOptions: true } }],
}

const CHAT = { operation: 'chat', format: 'chat-completions' } as const
const providers = new Map([[PROVIDER.name, PROVIDER]])

function quirksAt(quirks: NonNullable<ChannelConfig['quirks']>, upstreamModel = 'wise') {
  const { catalog } = buildCatalog(
    { channels: [{ id: 'a', provider: 'acme', quirks }], models: [] },
    new Map([[PROVIDER.name, PROVIDER]]),
  )
  const endpoints = new Endpoints({ providers, onCredentialFailure: () => {} })
  return endpoints.find(catalog.channels.get('a') as Channel, CHAT, upstreamModel)?.quirks(upstreamModel)
}

describe('the quirks of a channel', () => {
  it("are its provider's where it says nothing of its own host", () => {
    const { streamOptions, fields, roles } = quirksAt({}) ?? {}
    assert.equal(streamOptions, false)
    assert.deepEqual(fields, { seed: 'random_seed', store: null })
    assert.deepEqual(roles, { developer: 'system' })
  })

  it('are what it says, name by name, where it does', () => {
    const { streamOptions, fields } = quirksAt({ stream_options: true, fields: { store: 'store', user: null } }) ?? {}
    assert.equal(streamOptions, true)
    assert.deepEqual(fields, { seed: 'random_seed', store: 'store', user: null })
  })

  it('are those of a model where the provider knows it to differ, beside all others', () => {
    const { translationOptions, streamOptions } = quirksAt({}, 'translator-small') ?? {}
    assert.deepEqual([translationOptions, streamOptions], [true, false])
    assert.equal(quirksAt({})?.translationOptions, undefined)
    assert.equal(quirksAt({ translation_options: false }, 'translator-small')?.translationOptions, false)
  })

  it('let the models of DashScope that only translate do so by options, and tell all others in words', () => {
    const endpoints = new Endpoints({ providers: PROVIDERS, onCredentialFailure: () => {} })
    const config = { channels: [{ id: 'a', provider: 'dashscope' }], models: [] }
    const channel = buildCatalog(config, PROVIDERS).catalog.channels.get('a') as Channel
    const isToldByOptions = (model: string) =>
      endpoints.find(channel, CHAT, model)?.quirks(model).translationOptions ?? false
    assert.deepEqual(['qwen-mt-plus', 'qwen-plus'].map(isToldByOptions), [true, false])
  })
})

describe('the headers of a channel', () => {
  it('go with every request, and never stand in for its credential', async () => {
    const provider: Provider = { ...PROVIDER, auth: key => ({ authorization: `Bearer ${key}` }) }
    const known = new Map([[provider.name, provider]])
    const headers = { 'X-Title': 'Acme', Authorization: 'none', Accept: 'text/plain' }
    const config = { channels: [{ id: 'a', provider: 'acme', api_key: 'key', headers }], models: [] }
    const channel = buildCatalog(config, known).catalog.channels.get('a') as Channel
    const request = { method: 'POST', url: new URL('http://localhost'), headers: { accept: 'application/json' } }
    assert.deepEqual(
      await new Endpoints({ providers: known, onCredentialFailure: () => {} }).authorize(
        channel,
        channel.credentials[0],
        request,
      ),
      { 'x-title': 'Acme', authorization: 'Bearer key', accept: 'application/json' },
    )
  })
})
