import { decodeAwsFault } from '#wire/aws-fault.ts'
import { hostedMessages } from '#wire/messages/hosted.ts'
import type { Endpoint } from '../provider.ts'

/**
 * Amazon Bedrock API reference, "InvokeModel" and "InvokeModelWithResponseStream", with the body that Claude wants
 * (Bedrock user guide, "Anthropic Claude Messages API"). Ids of inference profiles carry a region before the vendor
 * (`us.anthropic.…`), ARNs a path.
 */
export const invokeModel: Endpoint = Object.freeze({
  format: 'messages',
  path: '/model/{model}/invoke',
  streamPath: '/model/{model}/invoke-with-response-stream',
  models: /(^|[./])anthropic\./,
  framing: 'aws-event-stream',
  adapt: hostedMessages({ version: 'bedrock-2023-05-31', inAddress: ['model', 'stream'], betas: 'body' }),
  decodeFault: decodeAwsFault,
})
