import { answerWhole, completion, type Script, ScriptedUpstream } from './upstream.ts'

/** An upstream that never gives the same answer twice, to chat and embeddings: what is equal was not asked for again. */
export function startNumberedUpstream(): Promise<ScriptedUpstream> {
  let count = 0
  const script: Script = (request, response, socket) => {
    count += 1
    if (request.path.endsWith('/embeddings')) {
      response.setHeader('content-type', 'application/json')
      const data = [{ object: 'embedding', index: 0, embedding: [count, 0.5] }]
      response.end(JSON.stringify({ object: 'list', data, model: 'm', usage: { prompt_tokens: 4, total_tokens: 4 } }))
      return
    }
    const { choices } = completion() as { choices: [{ message: object }] }
    const [choice] = choices
    const message = { ...choice.message, content: `Answer ${count}` }
    const fields = { id: `chatcmpl-${count}`, choices: [{ ...choice, message }] }
    return answerWhole({ words: ['Answer ', String(count)], fields })(request, response, socket)
  }
  return ScriptedUpstream.start(script)
}
