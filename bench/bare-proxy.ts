import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Dispatcher, Pool } from 'undici'

/**
 * The floor: what any proxy on this runtime must do, and nothing else. JSON is parsed both ways, the model is replaced,
 * stream chunks are passed on with back-pressure. No authentication, accounting, validation, timeouts or logs.
 *
 * Usage: node bare-proxy.ts <upstream origin>
 */
const upstream = process.argv[2] ?? ''
const pool = new Pool(upstream, { pipelining: 1, allowH2: false, headersTimeout: 0, bodyTimeout: 0 })
const REQUEST_HEADERS = { 'content-type': 'application/json', authorization: 'Bearer sk-upstream' }

const server = http.createServer((request, response) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    const body = JSON.parse((pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)).toString())
    body.model = 'upstream-model'
    const { url: path = '/' } = request
    // Google's clients ask for a stream by the path.
    const isStream = body.stream === true || path.includes(':streamGenerateContent')
    const options = { path, method: 'POST', headers: REQUEST_HEADERS, body: JSON.stringify(body) }
    pool.dispatch(options, isStream ? streamTo(response) : wholeTo(response))
  })
})

function wholeTo(response: http.ServerResponse): Dispatcher.DispatchHandler {
  const pieces: Buffer[] = []
  let status = 0
  return {
    onRequestStart: () => {},
    onResponseStart: (_controller, code) => {
      status = code
    },
    onResponseData: (_controller, piece) => void pieces.push(piece),
    onResponseEnd: () => {
      const text = (pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)).toString()
      const body = JSON.stringify(JSON.parse(text))
      response.writeHead(status, ['content-type', 'application/json', 'content-length', `${Buffer.byteLength(body)}`])
      response.end(body)
    },
    onResponseError: () => void response.destroy(),
  }
}

function streamTo(response: http.ServerResponse): Dispatcher.DispatchHandler {
  return {
    onRequestStart: () => {},
    onResponseStart: (controller, status) => {
      response.writeHead(status, ['content-type', 'text/event-stream'])
      response.on('drain', () => controller.resume())
      response.on('close', () => response.writableFinished || controller.abort(new Error('the client has gone')))
    },
    onResponseData: (controller, piece) => void (response.write(piece) || controller.pause()),
    onResponseEnd: () => void response.end(),
    onResponseError: () => void response.destroy(),
  }
}

server.listen(0, '127.0.0.1', () => process.send?.({ kind: 'ready', port: (server.address() as AddressInfo).port }))
process.on('disconnect', () => process.exit())
