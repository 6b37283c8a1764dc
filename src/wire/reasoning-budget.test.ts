import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { budgetOfEffort, effortOfBudget } from './reasoning-budget.ts'

describe('efforts and budgets', () => {
  it('stand for each other', () => {
    for (const effort of ['low', 'medium', 'high']) {
      assert.equal(effortOfBudget(budgetOfEffort(effort, 64_000) ?? 0, 64_000), effort)
    }
  })

  it('never come to an effort that only some models know', () => {
    assert.deepEqual(
      [1_024, 10_000, 31_999, 1e9].map(budget => effortOfBudget(budget)),
      ['low', 'medium', 'high', 'high'],
    )
  })

  it('of an effort that is none, or unheard of, are none', () => {
    for (const effort of [undefined, 'none', 'toString']) assert.equal(budgetOfEffort(effort, 1000), undefined)
  })
})
