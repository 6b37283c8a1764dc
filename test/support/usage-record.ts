import { newId } from '#lib/ids.ts'
import type { UsageRecord } from '#metering/usage-record.ts'

/** A journal record with everything filled in; `fields` say what a test is about. */
export function usageRecord(fields: Partial<UsageRecord> | Record<string, unknown>): UsageRecord {
  return {
    request_id: newId('req'),
    created_at: new Date().toISOString(),
    organization_id: 'org_test',
    workspace_id: 'ws_test',
    api_key_id: 'key_test',
    model: 'test-chat',
    logical_model: 'test-chat',
    model_vendor: 'acme',
    scene: 'chat',
    access_channel: 'platform',
    channel_id: 'main',
    delivery_tier: 'official',
    usage_unit: 'per_token',
    usage_quantity: '15',
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 15,
    cache_read_tokens: undefined,
    cache_write_tokens: undefined,
    cache_write_tokens_5m: undefined,
    cache_write_tokens_1h: undefined,
    audio_input_tokens: undefined,
    audio_output_tokens: undefined,
    reasoning_tokens: undefined,
    cost: '0.00002',
    price_version: 'pv_test',
    is_estimated: false,
    outcome: 'completed',
    ...fields,
  }
}
