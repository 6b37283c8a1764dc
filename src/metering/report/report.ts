import { canonicalDecimal, formatDecimal, formatUsd, parseDecimal, parseUsd } from '#core/money.ts'
import { QUANTITY_PLACES } from '#core/usage.ts'
import { type Database, readSnapshot } from '#storage/database.ts'
import {
  readDays,
  readGroups,
  readItems,
  type UsageDay,
  type UsageFilter,
  type UsageGroup,
  type UsageItem,
} from './store.ts'

export interface UsageReport {
  readonly items: Record<string, unknown>[]
  readonly pagination: { page: number; limit: number; total: number; totalPages: number }
  readonly summary: Record<string, unknown>
  readonly breakdowns: Record<string, Record<string, unknown>[]>
}

/**
 * The usage of a key or an organization as the spec's report: one page of requests, their sums, and the sums by model, vendor, scene, channel
 * and day. Everything is read in one snapshot, so that the parts agree to the last digit.
 */
export async function reportUsage(
  database: Database,
  filter: UsageFilter,
  { page, limit }: { page: number; limit: number },
): Promise<UsageReport> {
  const { groups, days, items } = await readSnapshot(database, async transaction => ({
    groups: await readGroups(transaction, filter),
    days: await readDays(transaction, filter),
    items: await readItems(transaction, filter, { offset: (page - 1) * limit, limit }),
  }))
  const total = sumNumbers(groups, 'requests')
  return {
    items: items.map(toApi),
    pagination: { page, limit, total, totalPages: Math.ceil(total / limit) },
    summary: toSummary(groups),
    breakdowns: toBreakdowns(groups, days),
  }
}

/** A request as the spec's usage item. */
export function toApi(row: UsageItem): Record<string, unknown> {
  return {
    request_id: row.request_id,
    billing_transaction_id: row.billing_transaction_id,
    model: row.model,
    logical_model: row.logical_model,
    model_vendor: row.model_vendor || null,
    scene: row.scene,
    access_channel: row.access_channel,
    usage_unit: row.usage_unit,
    ...quantityFields(row.usage_quantity),
    // The report's counts are numbers; one that nobody reported adds nothing to any sum.
    prompt_tokens: row.prompt_tokens ?? 0,
    completion_tokens: row.completion_tokens ?? 0,
    total_tokens: row.total_tokens ?? 0,
    cache_read_tokens: row.cache_read_tokens ?? 0,
    cache_write_tokens: row.cache_write_tokens ?? 0,
    cache_write_tokens_5m: row.cache_write_tokens_5m ?? 0,
    cache_write_tokens_1h: row.cache_write_tokens_1h ?? 0,
    ...costFields(row.cost),
    created_at: row.created_at.toISOString(),
  }
}

function toSummary(groups: readonly UsageGroup[]): Record<string, unknown> {
  const cost = sumCost(groups)
  return {
    total_requests: sumNumbers(groups, 'requests'),
    total_cost: Number(cost),
    total_cost_decimal: cost,
    total_prompt_tokens: sumNumbers(groups, 'prompt_tokens'),
    total_completion_tokens: sumNumbers(groups, 'completion_tokens'),
    total_tokens: sumNumbers(groups, 'total_tokens'),
    usage_unit_breakdown: [...Map.groupBy(groups, group => group.usage_unit)].map(([unit, members]) => ({
      usage_unit: unit,
      ...quantityFields(sumQuantity(members)),
    })),
  }
}

function toBreakdowns(groups: readonly UsageGroup[], days: readonly UsageDay[]): UsageReport['breakdowns'] {
  return {
    by_model: breakdown(groups, group => [group.model, group.logical_model, group.model_vendor]).map(members => ({
      ...modelFields(members, members[0].model),
      ...requestsAndCost(members),
      ...quantityFields(sumQuantity(members)),
    })),
    by_logical_model: breakdown(groups, group => [group.logical_model, group.model_vendor]).map(members => ({
      ...modelFields(members, members[0].logical_model),
      ...requestsAndCost(members),
      ...quantityFields(sumQuantity(members)),
    })),
    by_model_vendor: breakdown(groups, group => [group.model_vendor]).map(members => ({
      model_vendor: members[0].model_vendor || null,
      ...requestsAndCost(members),
    })),
    by_scene: breakdown(groups, group => [group.scene]).map(members => ({
      scene: members[0].scene,
      ...requestsAndCost(members),
    })),
    by_access_channel: breakdown(groups, group => [group.access_channel]).map(members => ({
      access_channel: members[0].access_channel,
      ...requestsAndCost(members),
    })),
    daily_cost: days.map(({ day, cost }) => ({ date: day.toISOString(), ...costFields(cost) })),
  }
}

type Members = readonly [UsageGroup, ...UsageGroup[]]

/** Groups joined by some of their columns, the dearest first. */
function breakdown(groups: readonly UsageGroup[], by: (group: UsageGroup) => string[]): Members[] {
  const joined = [...Map.groupBy(groups, group => JSON.stringify(by(group))).values()] as unknown as Members[]
  const priced = joined.map(members => ({ members, cost: parseUsd(sumCost(members)) }))
  return priced.toSorted((a, b) => (a.cost === b.cost ? 0 : a.cost < b.cost ? 1 : -1)).map(({ members }) => members)
}

function modelFields([first]: Members, model: string): Record<string, unknown> {
  return { model, logical_model: first.logical_model, model_vendor: first.model_vendor || null }
}

function requestsAndCost(members: Members): Record<string, unknown> {
  return { requests: sumNumbers(members, 'requests'), ...costFields(sumCost(members)) }
}

/** The exact amount, and the number that displays are fed with. */
function costFields(amount: string): { cost: number; cost_decimal: string } {
  const exact = canonicalDecimal(amount)
  return { cost: Number(exact), cost_decimal: exact }
}

function quantityFields(quantity: string): { usage_quantity: number; usage_quantity_decimal: string } {
  const exact = canonicalDecimal(quantity)
  return { usage_quantity: Number(exact), usage_quantity_decimal: exact }
}

function sumCost(groups: readonly UsageGroup[]): string {
  return formatUsd(groups.reduce((sum, group) => sum + parseUsd(canonicalDecimal(group.cost)), 0n))
}

function sumQuantity(groups: readonly UsageGroup[]): string {
  const sum = groups.reduce(
    (total, group) => total + parseDecimal(canonicalDecimal(group.usage_quantity), QUANTITY_PLACES),
    0n,
  )
  return formatDecimal(sum, QUANTITY_PLACES)
}

function sumNumbers(
  groups: readonly UsageGroup[],
  field: 'requests' | 'prompt_tokens' | 'completion_tokens' | 'total_tokens',
): number {
  return groups.reduce((sum, group) => sum + group[field], 0)
}
