import type { Provider } from '../provider.ts'
import { cerebras } from './hosts/cerebras.ts'
import { dashscope } from './hosts/dashscope.ts'
import { deepseek } from './hosts/deepseek.ts'
import { fireworks } from './hosts/fireworks.ts'
import { groq } from './hosts/groq.ts'
import { jina } from './hosts/jina.ts'
import { llamaCpp } from './hosts/llama-cpp.ts'
import { lmStudio } from './hosts/lm-studio.ts'
import { mistral } from './hosts/mistral.ts'
import { moonshot } from './hosts/moonshot.ts'
import { ollama } from './hosts/ollama.ts'
import { openrouter } from './hosts/openrouter.ts'
import { perplexity } from './hosts/perplexity.ts'
import { together } from './hosts/together.ts'
import { vllm } from './hosts/vllm.ts'
import { voyage } from './hosts/voyage.ts'
import { xai } from './hosts/xai.ts'
import { zai } from './hosts/zai.ts'

/** Hosts that speak OpenAI's API, each with its address and what it does differently. Any other is `openai` with a `base_url`. */
export const OPENAI_COMPATIBLE: readonly Provider[] = Object.freeze([
  cerebras,
  dashscope,
  deepseek,
  fireworks,
  groq,
  jina,
  llamaCpp,
  lmStudio,
  mistral,
  moonshot,
  ollama,
  openrouter,
  perplexity,
  together,
  vllm,
  voyage,
  xai,
  zai,
])
