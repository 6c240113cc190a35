/** Runs the server until its client disconnects or the signal is aborted. */

import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { serveHttp } from './http.ts'
import { MessageLines } from './message-lines.ts'
import type { HttpSettings, ServerSettings } from './options.ts'
import { createServer } from './server.ts'
import { Stores } from './stores.ts'
import { tokenIn } from './token.ts'

export type { HttpSettings, ServerSettings } from './options.ts'
export { TOOL_GROUPS, type ToolGroup } from './options.ts'

/** The interval in which the parent process is checked, in ms: a pipe that another process also has open does not close when the parent ends. */
const PARENT_CHECK = 200
/** How long pending saves may take after the client has disconnected, in ms. */
const GRACE = 500

export async function serveOverStdio(settings: ServerSettings, signal: AbortSignal): Promise<void> {
  const stores = new Stores(settings)
  const lines = new MessageLines((line) => void process.stdout.write(`${line}\n`))
  const connection = serveStdio(() => createServer(stores), {
    transport: new StdioServerTransport(process.stdin.pipe(lines)),
    onerror: (error) => settings.onDebug?.(error.message),
  })
  await clientGone(signal)
  await within(GRACE, Promise.all([connection.close(), stores.close()]))
}

export async function serveOverHttp(settings: ServerSettings, http: HttpSettings, signal: AbortSignal): Promise<void> {
  const stores = new Stores(settings)
  const token = await tokenIn(http.tokenFile)
  const listening = (address: string): void => {
    process.stderr.write(`agent-context: serving ${address}; the bearer token is in ${http.tokenFile}\n`)
  }
  await serveHttp(() => createServer(stores), http, token, signal, listening)
  await within(GRACE, stores.close())
}

function clientGone(signal: AbortSignal): Promise<void> {
  const parent = process.ppid
  return new Promise((resolve) => {
    const check = setInterval(() => {
      if (process.ppid !== parent) {
        done()
      }
    }, PARENT_CHECK)
    const done = (): void => {
      clearInterval(check)
      resolve()
    }
    process.stdin.once('end', done).once('close', done).once('error', done)
    // Nothing can be answered any more.
    process.stdout.once('error', done)
    signal.addEventListener('abort', done, { once: true })
  })
}

async function within(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  await Promise.race([
    work.catch(() => undefined),
    new Promise((resolve) => {
      timer = setTimeout(resolve, milliseconds)
    }),
  ])
  clearTimeout(timer)
}
