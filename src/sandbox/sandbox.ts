import { readFile } from 'node:fs/promises'
import { LLMock } from '@copilotkit/aimock'
import { answerChat } from './chat.ts'
import { embeddingsMount } from './embed.ts'
import { countTokens } from './tokens.ts'

/** A first word after a third of a second, then as fast as a quick model writes. */
const HUMAN_TIMING = { ttft: 350, tps: 40, jitter: 0.3 }
/** Characters an event; English tokens have about four. */
const CHUNK_CHARACTERS = 5
/** The mock remembers requests for tests to look at; a demo that runs for weeks must not. */
const REMEMBERED_REQUESTS = 100

/** The demo upstream: an independent mock of the providers' APIs, on a loopback port of its own. */
export class Sandbox {
  readonly #mock = new LLMock({
    port: 0,
    host: '127.0.0.1',
    logLevel: 'silent',
    journalMaxEntries: REMEMBERED_REQUESTS,
  })

  /** @returns its address */
  async start(): Promise<string> {
    this.#mock.mount('/v1/embeddings', embeddingsMount)
    this.#mock.addFixture({
      match: { endpoint: 'chat' },
      response: answerChat,
      chunkSize: CHUNK_CHARACTERS,
      streamingProfile: HUMAN_TIMING,
    })
    await this.#mock.start()
    // Loads the tokenizer in the background, before the first request has to wait for it.
    void countTokens('')
    return this.#mock.url
  }

  async stop(): Promise<void> {
    await this.#mock.stop()
  }
}

/** Channels and models of the sandbox, as configuration text with `${SANDBOX_URL}` in it. */
export async function sandboxConfig(): Promise<string> {
  return readFile(new URL('config.yaml', import.meta.url), 'utf8')
}
