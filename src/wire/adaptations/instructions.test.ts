import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { adapting, callOf, say, system, user } from '../../../test/support/conversation.ts'
import { adaptJsonMode } from './json-mode.ts'
import { adaptTranslation } from './translation.ts'

describe('a text to translate', () => {
  const messages = [system(say('Be polite.')), user(say('Guten Tag'))]
  const call = callOf(messages, { translation: { sourceLanguage: 'German', targetLanguage: 'French' } })

  it('is told in words to models whose format has no options for it, before everything else', () => {
    for (const upstream of ['messages', 'responses', 'generate-content', 'chat-completions'] as const) {
      const adapted = adapting(adaptTranslation, call, { upstream }).call
      const told = "Translate the user's text from German into French. Answer with the translation alone."
      assert.deepEqual(adapted, callOf([system(say(told)), ...messages]))
    }
    const open = adapting(adaptTranslation, { ...call, translation: { targetLanguage: 'fr' } }).call
    assert.deepEqual(
      open.messages[0],
      system(say("Translate the user's text into fr. Answer with the translation alone.")),
    )
  })

  it('is left to the options where there are some', () => {
    const knowing = { upstream: 'chat-completions', quirks: { translationOptions: true } } as const
    assert.deepEqual(adapting(adaptTranslation, call, knowing), { call })
  })
})

describe('an answer in JSON without a schema', () => {
  const call = callOf([system(say('Be brief.')), user(say('Hi'))], { output: { type: 'json' } })

  it('is asked for in words, after the client’s own instructions, where a format knows no such answer', () => {
    const { messages } = adapting(adaptJsonMode, call).call
    assert.deepEqual([messages[0], messages[2]], call.messages)
    assert.match(JSON.stringify(messages[1]), /"system".*one JSON object/)
  })

  it('is asked for in words of OpenAI’s formats only when the conversation does not speak of JSON', () => {
    for (const upstream of ['chat-completions', 'responses'] as const) {
      assert.equal(adapting(adaptJsonMode, call, { upstream }).call.messages.length, 3)
      const spoken = { ...call, messages: [user(say('As json, please'))] }
      assert.equal(adapting(adaptJsonMode, spoken, { upstream }).call, spoken)
    }
    assert.equal(adapting(adaptJsonMode, call, { upstream: 'generate-content' }).call, call)
  })
})
