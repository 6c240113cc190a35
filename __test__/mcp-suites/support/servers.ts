/** The two servers under test, behind a proxy that knows the token: the suite sends no Authorization header. */

import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

export const PROGRAM = fileURLToPath(new URL('../../../dist/cli/agent-context.js', import.meta.url))
const FIXTURE = fileURLToPath(new URL('fixture-server.ts', import.meta.url))

export interface ServedAddress extends AsyncDisposable {
  /** Of the proxy. */
  readonly address: string
}

/** `agent-context mcp --http` with its places in a directory. */
export async function startProduct(directory: string): Promise<ServedAddress> {
  const tokenFile = join(directory, 'token')
  const child = spawn(process.execPath, [PROGRAM, 'mcp', '--http', '--token-file', tokenFile], {
    env: environmentIn(directory),
    cwd: directory,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const line = await firstLine(child, child.stderr)
  return proxied(child, /http:\S+?(?=;)/.exec(line)?.[0] ?? '', readFileSync(tokenFile, 'utf8').trim())
}

/** What the suite asks for, on the same HTTP stack. */
export async function startFixture(): Promise<ServedAddress> {
  const token = randomBytes(32).toString('hex')
  const child = spawn(process.execPath, [FIXTURE, token], { stdio: ['pipe', 'pipe', 'inherit'] })
  return proxied(child, await firstLine(child, child.stdout), token)
}

/** Places in a directory of the test, and nothing else of the tester's environment. */
export function environmentIn(directory: string): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    HOME: directory,
    AGENT_CONTEXT_DIR: join(directory, 'context'),
    AGENT_CONTEXT_HISTORY: join(directory, 'history', 'context.jsonl'),
    SFA_CONTEXT_STORE: join(directory, 'store'),
    AGENT_CONTEXT_MEMORY: join(directory, 'memory'),
    AGENT_CONTEXT_WORKSPACE: directory,
  }
}

async function firstLine(child: ChildProcess, output: Readable): Promise<string> {
  const lines = createInterface({ input: output })
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`the server ended with ${code}`)))
  ended.catch(() => undefined)
  const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string]
  return line
}

async function proxied(child: ChildProcess, address: string, token: string): Promise<ServedAddress> {
  const { hostname, port } = new URL(address)
  const proxy: Server = createServer((incoming, outgoing) => {
    const own = `:${(proxy.address() as AddressInfo).port}`
    // What names the proxy names the server: any other host or origin goes through unchanged.
    const renamed = (value: string | undefined): string | undefined => value?.replace(own, `:${port}`)
    const headers = { ...incoming.headers, host: renamed(incoming.headers.host), authorization: `Bearer ${token}` }
    const { origin } = incoming.headers
    const { method, url: path } = incoming
    const forwarded = request(
      { hostname, port, path, method, headers: { ...headers, ...(origin ? { origin: renamed(origin) } : {}) } },
      (answered) => {
        outgoing.writeHead(answered.statusCode ?? 502, answered.headers)
        answered.pipe(outgoing)
      },
    )
    forwarded.on('error', () => outgoing.destroy())
    outgoing.on('close', () => forwarded.destroy())
    incoming.pipe(forwarded)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    address: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections()
      proxy.close()
      if (child.exitCode === null && child.signalCode === null) {
        child.stdin?.destroy()
        child.kill('SIGINT')
        await once(child, 'close')
      }
    },
  }
}
