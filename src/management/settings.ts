import type { Violation } from '#core/validate.ts'
import { invalidFields, toValidationErrors } from './body.ts'

/** From fields of a body that fit their schema to settings of a store. */
export type SettingDecoders<S> = Readonly<Record<string, SettingDecoder<S>>>

interface SettingDecoder<S> {
  readonly setting: keyof S
  /** @throws RangeError with what is wrong with the field */
  decode(value: never): unknown
}

/**
 * The settings that a body gives; `null` clears one, which is `undefined` in a store.
 *
 * @param violations where the body does not fit its schema
 * @throws Fault `invalid_request` that names every wrong field
 */
export function decodeSettings<S>(
  body: Readonly<Record<string, unknown>>,
  violations: readonly Violation[],
  decoders: SettingDecoders<S>,
): Partial<S> {
  const errors = toValidationErrors(violations)
  const settings: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(body)) {
    const decoder = Object.hasOwn(decoders, field) ? decoders[field] : undefined
    if (!decoder || errors.some(error => isWithin(error.field, field))) continue
    try {
      settings[decoder.setting as string] = value === null ? undefined : decoder.decode(value as never)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      errors.push({ field, message: error.message })
    }
  }
  if (errors.length > 0) throw invalidFields(errors)
  return settings as Partial<S>
}

/** Whether `models[2]` or `names.x` is a part of a field. */
function isWithin(part: string, field: string): boolean {
  return part === field || part.startsWith(`${field}[`) || part.startsWith(`${field}.`)
}

/** Postgres holds no zero byte, and a list no line break. */
export function decodeName(text: string): string {
  if (/\p{Cc}/u.test(text)) throw new RangeError('must not contain control characters')
  if (text.trim() === '') throw new RangeError('must not be empty')
  return text.trim()
}

/** No ids are all of them. */
export function decodeModels(ids: readonly string[]): readonly string[] | undefined {
  return ids.length === 0 ? undefined : [...new Set(ids)]
}
