/** An MCP server over standard input and output, asked by hand: a client library would cost more than what is measured. */

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import type { Readable, Writable } from 'node:stream'

interface Message {
  readonly id?: unknown
  readonly result?: unknown
  readonly error?: { readonly message?: unknown }
}

export class McpProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #waiting = new Map<number, (message: Message) => void>()
  readonly #answered = new Set<unknown>()
  readonly #ended: Promise<unknown>
  #id = 0

  constructor(words: readonly string[], environment: Readonly<Record<string, string>>) {
    this.#child = spawn(process.execPath, [...words], {
      env: { ...process.env, ...environment },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    this.#ended = once(this.#child, 'close')
    this.#child.stdin.on('error', () => undefined) // it may have ended
    let rest = ''
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const message = JSON.parse(line) as Message
        this.#answered.add(message.id)
        this.#waiting.get(Number(message.id))?.(message)
      }
    })
  }

  async hello(): Promise<void> {
    await this.ask('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'bench', version: '1.0.0' },
    })
    this.notify('notifications/initialized', {})
  }

  send(method: string, params: object): number {
    this.#id += 1
    this.#write({ id: this.#id, method, params })
    return this.#id
  }

  notify(method: string, params: object): void {
    this.#write({ method, params })
  }

  async ask(method: string, params: object): Promise<unknown> {
    const id = this.send(method, params)
    const answered = new Promise<Message>((resolve) => this.#waiting.set(id, resolve))
    const ended = this.#ended.then(() => Promise.reject(new Error('the server ended')))
    const { result, error } = await Promise.race([answered, ended])
    if (error !== undefined) {
      throw new Error(`${method}: ${String(error.message)}`)
    }
    return result
  }

  isAnswered(id: number): boolean {
    return this.#answered.has(id)
  }

  residentMb(): number {
    return process.platform === 'linux'
      ? Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${this.#child.pid}/status`, 'utf8'))?.[1]) / 1024
      : Number.NaN
  }

  /** In hundredths of a second, of all threads. */
  processorTicks(): number {
    if (process.platform !== 'linux') {
      return Number.NaN
    }
    const fields = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return Number(fields[11]) + Number(fields[12])
  }

  async end(): Promise<void> {
    this.#child.stdin.end()
    await this.#ended.catch(() => undefined)
  }

  #write(message: object): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
}
