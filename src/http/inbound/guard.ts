import type { IncomingMessage } from 'node:http'
import { Fault } from '#core/fault.ts'

/**
 * What Node's parser lets through and a proxy must not (measured against `node:http`, see docs/architecture.md): each
 * of these is read differently by different servers, which is how one request smuggles another past a front end.
 * The connection is closed after such a refusal, since where the next request begins is in doubt.
 *
 * @param headersMax the server's `maxHeadersCount`: Node drops further headers without a word, so a list of that
 *   length may have lost one that mattered
 */
export function framingFault(request: IncomingMessage, headersMax: number): Fault | undefined {
  const { httpVersion, headers, rawHeaders } = request
  if (rawHeaders.length / 2 >= headersMax) {
    return new Fault('headers_too_large', `The request has ${headersMax} header fields or more.`)
  }
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return new Fault('invalid_request', `HTTP/${httpVersion} is not spoken here; use HTTP/1.1.`)
  }
  const { host, expect, 'transfer-encoding': transferEncoding } = headers
  if (httpVersion === '1.0' && transferEncoding !== undefined) {
    return new Fault('invalid_request', 'HTTP/1.0 knows no `Transfer-Encoding`.')
  }
  if (transferEncoding !== undefined && transferEncoding.toLowerCase() !== 'chunked') {
    return new Fault('invalid_request', 'The only `Transfer-Encoding` spoken here is `chunked`.')
  }
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    return new Fault('invalid_request', 'The only `Expect` understood here is `100-continue`.')
  }
  if (host === undefined && httpVersion === '1.1') return new Fault('invalid_request', 'The request has no `Host`.')
  if (host !== undefined && !HOST.test(host)) return new Fault('invalid_request', '`Host` is malformed.')
  if (countHeader(rawHeaders, 'host') > 1) return new Fault('invalid_request', 'The request has more than one `Host`.')
  if (hasBody(request) && !BODY_METHODS.has(request.method ?? '')) {
    return new Fault('invalid_request', `A ${request.method} request takes no body.`)
  }
  return targetFault(request)
}

/** A name or an address, and perhaps a port (RFC 9112, 3.2); empty is allowed. */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+;=%-]*)(?::\d*)?$/

const BODY_METHODS = new Set(['POST', 'PUT', 'PATCH'])

export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}

function countHeader(rawHeaders: readonly string[], name: string): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i] as string
    if (raw.length === name.length && raw.toLowerCase() === name) count += 1
  }
  return count
}

const ABSOLUTE_FORM = /^https?:\/\/([^/?#@]+)(\/[^#]*|\?[^#]*)?$/i

/**
 * An absolute-form target must name the same host as `Host`; it then counts as the path that it contains, to the
 * letter: resolving dots here would open what a front end has closed.
 */
function targetFault(request: IncomingMessage): Fault | undefined {
  const target = request.url ?? ''
  if (target.startsWith('/')) return undefined
  const [, authority, path = '/'] = ABSOLUTE_FORM.exec(target) ?? []
  if (authority === undefined || authority.toLowerCase() !== request.headers.host?.toLowerCase()) {
    return new Fault('invalid_request', 'The request target and `Host` name different hosts.')
  }
  request.url = path.startsWith('/') ? path : `/${path}`
  return undefined
}
