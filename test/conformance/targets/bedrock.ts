import { messages } from '../../matrix/upstreams/messages.ts'
import { chunkMessage } from '../../support/aws-event-stream.ts'
import { isBearer, type Target } from '../target.ts'

/** Claude. Signatures in place of a key are proved in `test/sdk/clouds.test.ts`, against AWS's own. */
export const target: Target = {
  provider: 'bedrock',
  source: 'Amazon Bedrock API reference, InvokeModel; user guide, Anthropic Claude Messages API and API keys',
  isAuthorized: isBearer,
  channel: () => ({ aws: { region: 'eu-central-1' } }),
  chat: {
    format: 'messages',
    path: '/model/{model}/invoke',
    streamPath: '/model/{model}/invoke-with-response-stream',
    refuses: { fields: ['model', 'stream'] },
    finds: { anthropic_version: 'bedrock-2023-05-31', max_tokens: 500 },
    read: (body, path) => {
      const [, model, action] = /\/model\/([^/]+)\/([^/]+)$/.exec(path) ?? []
      return messages.read({ ...body, model, stream: action === 'invoke-with-response-stream' }, path)
    },
    framing: {
      contentType: 'application/vnd.amazon.eventstream',
      frame: event => chunkMessage(JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? '')),
    },
    say: ({ error: { message } }) => ({ message }),
    mockPath: path => path,
  },
}
