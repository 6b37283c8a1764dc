import { isBearer, KEY, type Target } from './target.ts'

/** Google Cloud, "About VM metadata". */
const TOKEN_PATH = '/computeMetadata/v1/instance/service-accounts/default/token'

/** A channel that is known by the account of the machine that it runs on. */
export function knownByMachine(settings: object): Pick<Target, 'channel' | 'giveToken' | 'isAuthorized'> {
  return {
    channel: url => ({ api_key: undefined, service_account: { metadata_url: url }, ...settings }),
    giveToken: (path, headers) =>
      path === TOKEN_PATH && headers['metadata-flavor'] === 'Google'
        ? { access_token: KEY, token_type: 'Bearer', expires_in: 3600 }
        : undefined,
    isAuthorized: isBearer,
  }
}
