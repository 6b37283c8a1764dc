import type { Socket } from 'node:net'
import { errorBody, Fault } from '#core/fault.ts'
import { newTimedId } from '#lib/ids.ts'

const REASONS: Readonly<Record<number, string>> = Object.freeze({
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
})

/** Bytes that are no HTTP request, too many of them, or too slow: answered by hand, then the connection is closed. */
export function refuseUnparsed(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  refuseSocket(socket, unparsedFault(error.code))
}

function unparsedFault(code: string | undefined): Fault {
  if (code === 'HPE_HEADER_OVERFLOW') return new Fault('headers_too_large', 'The request headers are too large.')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new Fault('request_timeout', 'The request headers arrived too slowly.')
  return new Fault('invalid_request', 'The request is not valid HTTP.')
}

/** No path is upgraded: passing one on before agreeing to it would open a raw tunnel. */
export function refuseUpgrade(socket: Socket): void {
  refuseSocket(socket, new Fault('invalid_request', 'This path cannot be upgraded to another protocol.'))
}

/** `CONNECT` asks for a tunnel, and this is no proxy for anything but models. */
export function refuseTunnel(socket: Socket): void {
  refuseSocket(socket, new Fault('invalid_request', 'CONNECT is not spoken here: this is no proxy.'))
}

function refuseSocket(socket: Socket, fault: Fault): void {
  const body = JSON.stringify(errorBody(fault))
  const id = newTimedId('req')
  socket.end(
    [
      `HTTP/1.1 ${fault.status} ${REASONS[fault.status] ?? 'Error'}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${id}`,
      `request-id: ${id}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
    () => socket.destroy(),
  )
}
