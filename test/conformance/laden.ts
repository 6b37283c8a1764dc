/** A request with all that OpenAI's clients may say and hosts in its image may not know; none of it is left to chance. */
export const LADEN = {
  messages: [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: 'laden', name: 'alice' },
    {
      role: 'assistant',
      content: null,
      reasoning_content: 'Look it up.',
      tool_calls: [
        { id: 'call_made_by_another_host', type: 'function', function: { name: 'look_up', arguments: '{"text":"x"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_made_by_another_host', content: 'found' },
  ],
  tools: [
    { type: 'function', function: { name: 'look_up', parameters: { type: 'object', properties: {} } } },
    { type: 'custom', custom: { name: 'note' } },
  ],
  response_format: {
    type: 'json_schema',
    json_schema: { name: 'said', schema: { type: 'object', properties: { said: { type: 'string' } } } },
  },
  max_completion_tokens: 500,
  seed: 7,
  stream: true,
  stream_options: { include_usage: true },
  parallel_tool_calls: true,
  store: false,
  user: 'alice',
  safety_identifier: 'alice',
  service_tier: 'auto',
  metadata: { trace: '1' },
  verbosity: 'low',
} as const
