import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import { environmentIn } from './support/command-line.ts'
import { malformedMessage } from './support/malformed-messages.ts'
import { programWords } from './support/mcp.ts'
import { holds, inDirectory } from './support/processes.ts'
import { SeededRandom } from './support/seeded-random.ts'

const MESSAGES = 10_000
/** Messages between two that are right: the server has answered all of them by then. */
const BATCH = 500
/** Each is a request of its own. */
const HTTP_MESSAGES = 1000
const AT_A_TIME = 20
/** What it may keep for good after the first batches: its heap grows to a size and stays there. */
const MOST_GROWTH = 150 * 1024 * 1024
const LIMIT = { timeout: 600_000 }

interface Message {
  readonly jsonrpc?: unknown
  readonly id?: unknown
  readonly method?: unknown
  readonly result?: unknown
  readonly error?: { readonly code?: unknown; readonly message?: unknown }
}

/** Neither a request with a name nor a notification, but not an empty line. */
function isNoMessage(line: Buffer): boolean {
  try {
    const { jsonrpc, method, result, error } = JSON.parse(line.toString('utf8')) as Record<string, unknown>
    return jsonrpc !== '2.0' || (typeof method !== 'string' && result === undefined && error === undefined)
  } catch {
    return line.toString('utf8').trim() !== ''
  }
}

/** Where Linux says it. */
function resourcesOf(pid: number): { memory: number; files: number } | undefined {
  if (process.platform !== 'linux') {
    return undefined
  }
  const [, kilobytes = ''] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return { memory: Number(kilobytes) * 1024, files: readdirSync(`/proc/${pid}/fd`).length }
}

describe('the MCP server and messages that are wrong', () => {
  test(
    'stays alive, answers with errors, prints only messages, and keeps nothing',
    LIMIT,
    inDirectory(async (directory) => {
      const seed = Number(process.env['AGENT_CONTEXT_FUZZ_SEED'] ?? 1)
      const random = new SeededRandom(seed)
      const child = spawn(process.execPath, programWords(['mcp']), {
        env: environmentIn(directory),
        cwd: directory,
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      const pid = child.pid ?? 0
      let rest = ''
      const answers: Message[] = []
      const waiting = new Map<unknown, (message: Message) => void>()
      const counts = { results: 0, errors: 0 }
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        const lines = (rest + text).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          const message = JSON.parse(line) as Message
          assert.equal(message.jsonrpc, '2.0', line)
          answers.push(message)
          waiting.get(message.id)?.(message)
          waiting.delete(message.id)
        }
      })
      const send = async (line: Buffer | string): Promise<void> => {
        if (!child.stdin.write(line) || !child.stdin.write('\n')) {
          await once(child.stdin, 'drain')
        }
      }
      const ask = async (id: string, method: string, params: object): Promise<Message> => {
        const answered = new Promise<Message>((resolve) => waiting.set(id, resolve))
        await send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
        return answered
      }
      const hello = {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'fuzz', version: '1.0.0' },
      }
      holds((await ask('hello', 'initialize', hello)).result !== undefined)
      await send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }))

      let refused = 0
      let before: ReturnType<typeof resourcesOf>
      for (let number = 0; number < MESSAGES; number++) {
        const message = malformedMessage(random, number)
        await send(message)
        if (isNoMessage(message)) {
          refused += 1
        }
        if (number % BATCH === BATCH - 1) {
          const list = await ask(`list ${number}`, 'tools/list', {})
          assert.equal((list.result as { tools: unknown[] }).tools.length, 12, `seed ${seed}, after ${number} messages`)
          // The first batches load what is loaded once.
          before ??= number > MESSAGES / 4 ? resourcesOf(pid) : undefined
        }
      }
      // What writes and reads is over when the same has been done once more.
      const last = await ask('last', 'tools/call', { name: 'list_contexts', arguments: {} })
      holds(last.result !== undefined, JSON.stringify(last))
      const after = resourcesOf(pid)
      if (before !== undefined && after !== undefined) {
        holds(after.files <= before.files + 8, `${before.files} open files, then ${after.files}`)
        holds(after.memory <= before.memory + MOST_GROWTH, `${before.memory} bytes, then ${after.memory}`)
      }

      for (const { error, result, id, method } of answers) {
        if (error !== undefined) {
          counts.errors += 1
          holds(typeof error.code === 'number' && typeof error.message === 'string', JSON.stringify(error))
          holds(!/\n\s+at /.test(String(error.message)), String(error.message))
        } else if (result !== undefined) {
          counts.results += 1
          holds(id !== undefined, JSON.stringify(result))
        } else {
          assert.equal(typeof method, 'string')
        }
      }
      // No line that is no message goes without an answer.
      holds(refused > MESSAGES / 10 && counts.errors >= refused, `${refused} sent, ${JSON.stringify(counts)}`)
      child.stdin.end()
      assert.deepEqual(await once(child, 'close'), [0, null])
    }),
  )

  test(
    'answers wrong bodies over HTTP with what is wrong, and goes on',
    { ...LIMIT, skip: process.platform === 'win32' },
    inDirectory(async (directory) => {
      const random = new SeededRandom(Number(process.env['AGENT_CONTEXT_FUZZ_SEED'] ?? 1))
      const tokenFile = join(directory, 'token')
      const child = spawn(process.execPath, programWords(['mcp', '--http', '--token-file', tokenFile]), {
        env: environmentIn(directory),
        cwd: directory,
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      try {
        const [line] = (await once(createInterface({ input: child.stderr }), 'line')) as [string]
        const address = /http:\S+?(?=;)/.exec(line)?.[0] ?? ''
        const headers = {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}`,
        }
        const post = async (body: string | Uint8Array<ArrayBuffer>): Promise<{ status: number; text: string }> => {
          const answered = await fetch(address, { method: 'POST', headers, body })
          return { status: answered.status, text: await answered.text() }
        }
        let refused = 0
        for (let from = 0; from < HTTP_MESSAGES; from += AT_A_TIME) {
          const bodies = Array.from({ length: AT_A_TIME }, (_, index) => malformedMessage(random, from + index))
          for (const { status, text } of await Promise.all(bodies.map((body) => post(new Uint8Array(body))))) {
            holds(status < 500, `${status}: ${text}`)
            holds(!/\n\s+at /.test(text), text)
            refused += status >= 400 || text.includes('"error"') ? 1 : 0
          }
        }
        holds(refused > HTTP_MESSAGES / 4, `${refused} were refused`)
        const { status, text } = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }))
        assert.equal(status, 200)
        holds(text.includes('search_contexts'), text)
      } finally {
        child.kill('SIGINT')
        // Deno reports the signal that was sent, whatever the process made of it.
        assert.equal((await once(child, 'close'))[1], 'Deno' in globalThis ? 'SIGINT' : null)
      }
    }),
  )
})
