import type { Provider } from '../provider.ts'
import { auth } from './auth.ts'
import { chatCompletions } from './chat-completions.ts'
import { invokeModel } from './invoke-model.ts'
import { type BedrockSettings, check, settings } from './settings.ts'

/** Amazon Bedrock. Its models are listed by another host, to other permissions: nothing here is free to ask. */
export const bedrock: Provider = Object.freeze({
  name: 'bedrock',
  baseUrl: ({ aws: { region } }: BedrockSettings) =>
    `https://bedrock-runtime.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`,
  settings,
  check,
  auth,
  operations: Object.freeze({ chat: [invokeModel, chatCompletions] }),
})
