/** Why an upstream could not be asked, or did not finish its answer. */
export interface OutboundFailure {
  readonly kind:
    | 'forbidden'
    | 'credential'
    | 'connect'
    | 'connect-timeout'
    | 'first-byte-timeout'
    | 'idle-timeout'
    | 'cut'
    | 'malformed'
  /** Bytes of the request may have reached the upstream: it may have done the work and may bill for it. */
  readonly wasSent: boolean
  readonly cause: Error
}

const KINDS: Readonly<Record<string, OutboundFailure['kind']>> = Object.freeze({
  ERR_FORBIDDEN_DESTINATION: 'forbidden',
  UND_ERR_CONNECT_TIMEOUT: 'connect-timeout',
  UND_ERR_HEADERS_TIMEOUT: 'first-byte-timeout',
  UND_ERR_BODY_TIMEOUT: 'idle-timeout',
  UND_ERR_HEADERS_OVERFLOW: 'malformed',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'cut',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'malformed',
})

/** @param wasSent whether a connection had been established and the request begun */
export function failureOf(error: Error & { code?: string }, { wasSent }: { wasSent: boolean }): OutboundFailure {
  const code = error.code ?? ''
  const kind = KINDS[code] ?? (code.startsWith('HPE_') ? 'malformed' : wasSent ? 'cut' : 'connect')
  return { kind, wasSent, cause: error }
}
