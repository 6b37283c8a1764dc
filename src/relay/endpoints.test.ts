import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { buildCatalog } from '#catalog/build.ts'
import type { Channel } from '#catalog/catalog.ts'
import type { ChannelConfig } from '#catalog/schema.ts'
import type { Provider } from '#providers/provider.ts'
import { Endpoints } from './endpoints.ts'

const PROVIDER: Provider = {
  name: 'acme',
  baseUrl: 'https://api.acme.example/v1',
  auth: () => ({}),
  probePath: '/models',
  operations: { chat: [{ format: 'chat-completions', path: '/chat/completions' }] },
  quirks: { streamOptions: false, fields: { seed: 'random_seed', store: null }, roles: { developer: 'system' } },
}

function quirksAt(quirks: NonNullable<ChannelConfig['quirks']>) {
  const { catalog } = buildCatalog(
    { channels: [{ id: 'a', provider: 'acme', quirks }], models: [] },
    new Map([[PROVIDER.name, PROVIDER]]),
  )
  const endpoints = new Endpoints(new Map([[PROVIDER.name, PROVIDER]]))
  return endpoints.find(catalog.channels.get('a') as Channel, 'chat', 'chat-completions')?.quirks
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
})
