import { Fault } from '#core/fault.ts'
import { isUnavailable } from './database.ts'

const RETRY_AFTER_SECONDS = 5

/** For what cannot be answered without the database. @throws Fault `service_unavailable` when it cannot be reached */
export async function orUnavailable<T>(asking: Promise<T>): Promise<T> {
  try {
    return await asking
  } catch (cause) {
    if (!isUnavailable(cause)) throw cause
    throw new Fault('service_unavailable', 'The database cannot be reached at the moment; try again shortly.', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
      cause,
    })
  }
}
