import { blankCredentials } from '#lib/scrub.ts'

/**
 * Vendors and hosts as they call themselves in errors. Who serves a model is the operator's affair, and an error that
 * speaks of a provider's platform sends the reader to an account that is not theirs.
 */
const VENDORS =
  /\b(?:Azure OpenAI|OpenAI|Anthropic|Vertex AI|Google AI Studio|Google Cloud|Amazon Bedrock|Bedrock|OpenRouter|Groq|Together AI|Fireworks AI|DeepInfra|Mistral AI|Cohere|Perplexity|DeepSeek|Moonshot|SiliconFlow|DashScope|Volcengine|BytePlus|Cerebras|SambaNova)\b/g

/** What says where a request went, or on whose account: addresses, and ids of organizations, projects and requests. */
const WHEREABOUTS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:https?|wss?):\/\/[^\s"'<>)\]]+/gi, '[link]'],
  [/\barn:aws[\w-]*:[^\s"',]+/gi, '[account]'],
  [/\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b/g, '[account]'],
  [/\b(?:org|proj|acct|user|team|workspace|wrkspc)[-_](?=[A-Za-z0-9]*\d)[A-Za-z0-9]{6,}\b/g, '[account]'],
  [/\bprojects\/[\w-]+/g, 'projects/[account]'],
  [
    /\b(project|account|organization|tenant|subscription)([ :=#]+(?:id|number)?[ :=#]*)['"`]?(?=[\w-]*\d)[\w-]{6,}['"`]?/gi,
    '$1$2[account]',
  ],
  [/\b(?:req|request)_[A-Za-z0-9]{8,}\b/g, '[request]'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '[id]'],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, '[address]'],
  [/\b[\w-]+(?:\.[\w-]+)*\.(?:com|net|org|io|ai|cn|dev|cloud|internal|local)(?::\d{1,5})?\b/gi, '[address]'],
]

const CHARACTERS_MAX = 2_000

/** An upstream's own words, fit for a client: they say what to change, and not who said it. */
export function passableText(text: string): string {
  const placeless = WHEREABOUTS.reduce((said, [pattern, word]) => said.replace(pattern, word), blankCredentials(text))
  return placeless.replace(VENDORS, 'the provider').slice(0, CHARACTERS_MAX)
}
