import { errorBody, type Fault } from '#core/fault.ts'
import { isObject } from '../json/parse.ts'
import { decodeFault } from '../openai-fault.ts'
import type { Frame } from '../sse/frame.ts'

export { decodeFault, encodeFault } from '../openai-fault.ts'

/** The status that an error would have had on its own, by the code under which a begun response tells of it. */
const STATUS_BY_CODE: ReadonlyMap<unknown, number> = new Map([
  ['rate_limit_exceeded', 429],
  ['insufficient_quota', 429],
  ['server_is_overloaded', 503],
  ['slow_down', 503],
  ['vector_store_timeout', 504],
  ['invalid_prompt', 400],
  ['bio_policy', 400],
  ['invalid_image', 400],
  ['invalid_image_format', 400],
  ['invalid_base64_image', 400],
  ['invalid_image_url', 400],
  ['invalid_image_mode', 400],
  ['image_too_large', 400],
  ['image_too_small', 400],
  ['image_parse_error', 400],
  ['image_content_policy_violation', 400],
  ['image_file_too_large', 400],
  ['unsupported_image_media_type', 400],
  ['empty_image_file', 400],
  ['failed_to_download_image', 400],
  ['image_file_not_found', 400],
])

/** @param error what stands in a failed response, or an `error` event, whose fields are its own */
export function decodeFailure(error: unknown): Fault {
  // Some hosts wrap the event's fields in an `error`, as in a body.
  const fields = isObject(error) && isObject(error.error) ? error.error : error
  const code = isObject(fields) ? fields.code : undefined
  return decodeFault(STATUS_BY_CODE.get(code) ?? 200, { error: fields })
}

/** A fault as the last event of a stream: the error's fields stand in the event itself. */
export function encodeFaultEvent(fault: Fault, sequenceNumber: number): Frame {
  const { type, code = type, message, param = null, ...hints } = errorBody(fault).error
  const event = { type: 'error', sequence_number: sequenceNumber, code, message, param, ...hints }
  return { event: 'error', data: JSON.stringify(event) }
}
