/** What the sandbox says, by what it is asked. The first pattern that fits wins; the last fits all. */
const SPEECHES: readonly (readonly [RegExp, (question: string) => string])[] = [
  [
    /\b(hi|hello|hey|good (morning|evening)|hola|bonjour|hallo)\b/i,
    () =>
      'Hello! I am the Tollgate sandbox. There is no model behind me, but this answer came to you the way a real one ' +
      'would: through authentication, the catalog, a provider adapter and exact metering. Ask me for a haiku, some ' +
      'code or a list, or give me a tool to call.',
  ],
  [/haiku|poem|verse/i, () => 'One gate, many roads.\nEvery word that passes through\npays its toll in light.'],
  [
    /\b(code|function|program|script|typescript|javascript|python)\b/i,
    () =>
      'Here is a small function that retries an operation a few times:\n\n' +
      '```ts\nasync function retry<T>(run: () => Promise<T>, times = 3): Promise<T> {\n' +
      '  for (let attempt = 1; ; attempt++) {\n    try {\n      return await run()\n    } catch (error) {\n' +
      '      if (attempt === times) throw error\n    }\n  }\n}\n```\n\n' +
      'The sandbox wrote it from a template; a real model will suit it to your question.',
  ],
  [
    /\b(list|steps|ideas|ways|examples)\b/i,
    () =>
      'Three things to try next:\n\n1. Set `stream` to true and watch the words arrive.\n' +
      '2. Send a tool definition and see it called with arguments that fit its schema.\n' +
      '3. Open the usage report of your key and find this very request with its cost.',
  ],
  [/\bjson\b/i, () => '{"answer": "This is the Tollgate sandbox.", "is_real_model": false, "models_behind_it": 0}'],
  [
    /(?:)/,
    question =>
      `You asked: “${shorten(question)}”. I am the Tollgate sandbox, so I cannot really answer that, but everything ` +
      'around this text is real: the request was authenticated, routed, streamed if you wished, metered in exact ' +
      'decimals and written to the usage report. Put a provider key into tollgate.yaml and the same request will ' +
      'reach a real model.',
  ],
]

export function speak(question: string): string {
  const [, speech] = SPEECHES.find(([pattern]) => pattern.test(question)) as (typeof SPEECHES)[number]
  return speech(question)
}

const QUOTE_CHARACTERS_MAX = 120

function shorten(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length <= QUOTE_CHARACTERS_MAX ? line : `${line.slice(0, QUOTE_CHARACTERS_MAX)}…`
}
