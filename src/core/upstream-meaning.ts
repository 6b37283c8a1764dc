/**
 * What an upstream's error means, whichever format says it. Of the request: `invalid`, `too-long` for the model's
 * context, `too-large` as a body. Of our account there: `refused`, `unpaid`, `forbidden`, `limited`. Of the upstream
 * itself: `unknown-model`, `busy`, `slow`, `failed`.
 */
export type UpstreamMeaning =
  | 'invalid'
  | 'too-long'
  | 'too-large'
  | 'refused'
  | 'unpaid'
  | 'forbidden'
  | 'limited'
  | 'unknown-model'
  | 'busy'
  | 'slow'
  | 'failed'
