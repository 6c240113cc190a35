/** MCP over streamable HTTP, for clients on this machine. */

import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createMcpHandler, type McpHttpHandler, type Server } from '@modelcontextprotocol/server'
import type { HttpSettings } from './options.ts'

const PATH = '/mcp'
const MOST_BODY_BYTES = 4 * 1024 * 1024
const MOST_IN_FLIGHT = 64

/**
 * Serves until the signal; resolves when every connection is closed.
 *
 * @param createServer the server of one request
 */
export async function serveHttp(
  createServer: () => Server,
  { port, host }: Pick<HttpSettings, 'port' | 'host'>,
  token: string,
  signal: AbortSignal,
  onListening: (address: string) => void,
): Promise<void> {
  const handler = createMcpHandler(createServer, { maxRequestBodySize: MOST_BODY_BYTES })
  let inFlight = 0
  const server = createHttpServer((request, response) => {
    const refusal = refusalOf(request, token, host, inFlight)
    if (refusal !== undefined) {
      refuse(response, ...refusal)
      return
    }
    inFlight += 1
    handle(handler, request, response)
      .catch(() => response.destroy())
      .finally(() => {
        inFlight -= 1
      })
  })
  server.listen(port, host)
  await once(server, 'listening')
  const { port: bound, address, family } = server.address() as AddressInfo
  onListening(`http://${family === 'IPv6' ? `[${address}]` : address}:${bound}${PATH}`)
  if (!signal.aborted) {
    await once(signal, 'abort')
  }
  await handler.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}

type Refusal = readonly [status: number, message: string]

/** Checks that the host is this one, that a browser's origin is this server, and that the token is valid. */
function refusalOf(request: IncomingMessage, token: string, host: string, inFlight: number): Refusal | undefined {
  const port = request.socket.localPort
  const names = new Set(['127.0.0.1', 'localhost', '[::1]', host.includes(':') ? `[${host}]` : host])
  const isHere = (authority: string): boolean => [...names].some((name) => authority === `${name}:${port}`)
  const { host: named = '', origin, authorization = '' } = request.headers
  if (!isHere(named)) {
    return [403, 'the Host header names another machine']
  }
  if (origin !== undefined && !(origin.startsWith('http://') && isHere(origin.slice('http://'.length)))) {
    return [403, 'the Origin header names another page']
  }
  if (!isEqual(authorization, `Bearer ${token}`)) {
    return [401, 'the bearer token of the token file is missing or wrong']
  }
  if (request.url?.split('?', 1)[0] !== PATH) {
    return [404, `there is ${PATH} and nothing else`]
  }
  if (Number(request.headers['content-length'] ?? 0) > MOST_BODY_BYTES) {
    return [413, `a body has at most ${MOST_BODY_BYTES} bytes`]
  }
  return inFlight >= MOST_IN_FLIGHT ? [503, `more than ${MOST_IN_FLIGHT} requests at a time`] : undefined
}

/** In constant time, whatever the lengths. */
function isEqual(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    connection: 'close',
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
  })
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32000, message }, id: null }))
}

async function handle(handler: McpHttpHandler, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    for (const part of Array.isArray(value) ? value : value === undefined ? [] : [value]) {
      headers.append(name, part)
    }
  }
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD'
  const answered = await handler.fetch(
    new Request(`http://${request.headers.host}${request.url}`, {
      method: request.method ?? 'GET',
      headers,
      signal: gone.signal,
      ...(hasBody ? { body: Readable.toWeb(request) as ReadableStream, duplex: 'half' } : {}),
    } as RequestInit),
  )
  response.writeHead(answered.status, Object.fromEntries(answered.headers))
  if (answered.body === null) {
    response.end()
    return
  }
  await pipeline(Readable.fromWeb(answered.body as never), response)
}
