/**
 * What hooks and the MCP server of `agent-context` cost, each figure beside its bound.
 * `npm run bench:program [-- --outputs 10000 --rounds 9 --server-memory FILE]`
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ContextHistory, ContextManager } from '../dist/index.js'
import { runCommand } from './command.ts'
import { loadLine } from './machine.ts'
import { McpProcess } from './mcp-process.ts'
import { measure, PROGRAM, type Spread, spreadOf } from './measured-process.ts'

const MOST = {
  hookOverNode: 2.6,
  versionOverNode: 1.15,
  residentMb: 95,
  startOverServerMemory: 1.1,
  toolListBytes: 12_000,
  answerBytes: 16 * 1024,
  cancelMs: 200,
  goneMs: 1000,
}
const CONTROL = fileURLToPath(
  new URL('../__test__/mcp-suites/node_modules/@modelcontextprotocol/server-memory/dist/index.js', import.meta.url),
)

function print(name: string, value: string, bound: string): void {
  console.log(`${name.padEnd(44)} ${value.padStart(18)}   allowed: ${bound}`)
}

const both = ({ least, median }: Spread): string => `${least.toFixed(0)} / ${median.toFixed(0)}`

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      outputs: { type: 'string', default: '10000' },
      rounds: { type: 'string', default: '9' },
      'server-memory': { type: 'string', default: CONTROL },
    },
  })
  const [outputs, rounds] = [values.outputs, values.rounds].map(Number)
  if (outputs === undefined || rounds === undefined || !(outputs > 0) || !(rounds > 0)) {
    throw new Error('--outputs and --rounds are numbers')
  }
  const directory = mkdtempSync(join(tmpdir(), 'agent-context-bench-'))
  const environment = {
    HOME: directory,
    AGENT_CONTEXT_DIR: join(directory, 'context'),
    AGENT_CONTEXT_HISTORY: join(directory, 'history.jsonl'),
    SFA_CONTEXT_STORE: join(directory, 'store'),
    AGENT_CONTEXT_MEMORY: join(directory, 'memory'),
    AGENT_CONTEXT_WORKSPACE: directory,
  }
  try {
    console.log(`Node ${process.versions.node}; ${loadLine()}; times in ms, least / median of ${rounds}`)
    await hooks({ ...environment, AGENT_CONTEXT_DIR: join(directory, 'hooked') }, rounds)
    await starts(environment, rounds, values['server-memory'])
    await fill(environment, outputs)
    await answers(environment, outputs)
    await cancellation(environment)
    await ends(environment, rounds)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

type Environment = Readonly<Record<string, string>>

async function hooks(environment: Environment, rounds: number): Promise<void> {
  const event = (round: number): string =>
    JSON.stringify({
      session_id: 'bench',
      cwd: environment['HOME'],
      tool_name: 'Bash',
      tool_input: { round },
      tool_response: { stdout: `line of the output ${round}\n`.repeat(1500), stderr: '' },
    })
  const samples = {
    node: [] as number[],
    nodeWall: [] as number[],
    version: [] as number[],
    hook: [] as number[],
    wall: [] as number[],
  }
  for (let round = 0; round < rounds; round++) {
    const nodeStarted = performance.now()
    samples.node.push((await measure(['-e', '0'], environment)).cpuMs)
    samples.nodeWall.push(performance.now() - nodeStarted)
    samples.version.push((await measure([PROGRAM, '--version'], environment)).cpuMs)
    const started = performance.now()
    const words = [PROGRAM, 'hook', 'claude-code', 'post-tool-use']
    samples.hook.push((await measure(words, environment, (stdin) => void stdin.end(event(round)))).cpuMs)
    samples.wall.push(performance.now() - started)
  }
  const [node, version, hook] = [spreadOf(samples.node), spreadOf(samples.version), spreadOf(samples.hook)]
  print('node -e 0: processor time', both(node), '-')
  print('--version: processor time', both(version), `${MOST.versionOverNode} × Node`)
  print('  over Node, by the least', (version.least / node.least).toFixed(2), String(MOST.versionOverNode))
  print('hook on 32 KB: processor time', both(hook), `${MOST.hookOverNode} × Node`)
  print('  over Node, by the least', (hook.least / node.least).toFixed(2), String(MOST.hookOverNode))
  const [nodeWall, wall] = [spreadOf(samples.nodeWall), spreadOf(samples.wall)]
  print('hook on 32 KB: time until it has ended', both(wall), '100, on a quiet machine')
  print('  over Node, by the least', (wall.least / nodeWall.least).toFixed(2), String(MOST.hookOverNode))
}

async function starts(environment: Environment, rounds: number, control: string): Promise<void> {
  const contenders = { 'agent-context': [PROGRAM, 'mcp'], 'server-memory': [control] }
  const found = new Map<string, { times: number[]; resident: number[] }>()
  for (let round = 0; round < rounds; round++) {
    for (const [name, words] of Object.entries(contenders)) {
      const entry = found.get(name) ?? { times: [], resident: [] }
      found.set(name, entry)
      const started = performance.now()
      const server = new McpProcess(words, {
        ...environment,
        MEMORY_FILE_PATH: join(environment['HOME'] ?? '', 'graph'),
      })
      try {
        await server.hello()
        await server.ask('tools/list', {})
        entry.times.push(performance.now() - started)
        entry.resident.push(server.residentMb())
      } catch (error) {
        if (name === 'agent-context') {
          throw error
        }
        found.delete(name)
      } finally {
        await server.end()
      }
    }
  }
  const own = found.get('agent-context')
  const other = found.get('server-memory')
  if (own !== undefined) {
    const start = spreadOf(own.times)
    print('mcp: start to tools/list', both(start), `${MOST.startOverServerMemory} × server-memory`)
    if (other === undefined || other.times.length === 0) {
      console.log('  server-memory is not installed: npm install in __test__/mcp-suites')
    } else {
      const control = spreadOf(other.times)
      print('server-memory: start to tools/list', both(control), '-')
      const ratio = `${(start.least / control.least).toFixed(2)} / ${(start.median / control.median).toFixed(2)}`
      print('  over server-memory', ratio, String(MOST.startOverServerMemory))
      print('server-memory: resident after the start, MB', both(spreadOf(other.resident)), '-')
    }
    print('mcp: resident after the start, MB', both(spreadOf(own.resident)), String(MOST.residentMb))
  }
}

async function fill(environment: Environment, outputs: number): Promise<void> {
  const manager = new ContextManager({
    contextDir: environment['AGENT_CONTEXT_DIR'],
    retention: { maxFiles: outputs * 2, maxBytes: Number.MAX_SAFE_INTEGER },
  })
  const history = new ContextHistory({ path: environment['AGENT_CONTEXT_HISTORY'] })
  const line = 'a line of a log with a needle and "quoted" words, as most lines of most logs are\n'
  for (let saved = 0; saved < outputs; saved += 100) {
    await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        manager.saveContext('grep', { number: saved + index }, `${saved + index} ${line.repeat(25)}`),
      ),
    )
  }
  for (let entry = 0; entry < 300; entry++) {
    await history.append({ toolName: 'grep', params: { entry }, result: line.repeat(20) })
  }
  await manager.close()
  await history.close()
}

async function answers(environment: Environment, outputs: number): Promise<void> {
  const server = new McpProcess([PROGRAM, 'mcp'], environment)
  try {
    await server.hello()
    const { tools } = (await server.ask('tools/list', {})) as { tools: object[] }
    const listed = Buffer.byteLength(JSON.stringify(tools))
    print(`tool list of ${tools.length} tools, bytes`, String(listed), String(MOST.toolListBytes))
    let largest = 0
    for (const [name, args] of [
      ['list_contexts', { limit: 200 }],
      ['search_contexts', { query: 'needle quoted', limit: 20 }],
      ['read_context', { limit: 200 }],
    ] as const) {
      const answer = await server.ask('tools/call', { name, arguments: args })
      largest = Math.max(largest, Buffer.byteLength(JSON.stringify(answer)))
    }
    const seen = new Set<string>()
    let pages = 0
    let listedUris = 0
    const started = performance.now()
    for (let cursor: string | undefined, isMore = true; isMore; ) {
      const page = (await server.ask('resources/list', cursor === undefined ? {} : { cursor })) as {
        resources: { uri: string }[]
        nextCursor?: string
      }
      for (const { uri } of page.resources.filter((resource) => resource.uri.includes('/context/'))) {
        seen.add(uri)
        listedUris += 1
      }
      pages += 1
      cursor = page.nextCursor
      isMore = cursor !== undefined
    }
    print('largest answer, bytes', String(largest), String(MOST.answerBytes))
    print(`resources by ${pages} pages, listed / different`, `${listedUris} / ${seen.size}`, `${outputs} / ${outputs}`)
    print('  time for all pages', (performance.now() - started).toFixed(0), '-')
  } finally {
    await server.end()
  }
}

/** Work goes on as long as the process uses the processor: looked at every few ms. */
async function cancellation(environment: Environment): Promise<void> {
  const server = new McpProcess([PROGRAM, 'mcp'], environment)
  try {
    await server.hello()
    await server.ask('tools/call', { name: 'list_contexts', arguments: { limit: 1 } })
    const id = server.send('tools/call', {
      name: 'search_contexts',
      arguments: { query: 'needle quoted log words most' },
    })
    await setTimeout(5)
    server.notify('notifications/cancelled', { requestId: id, reason: 'bench' })
    const started = performance.now()
    let last = started
    let used = server.processorTicks()
    while (performance.now() - last < 300) {
      await setTimeout(10)
      const now = server.processorTicks()
      if (now !== used) {
        used = now
        last = performance.now()
      }
    }
    print('work goes on after a cancellation', (last - started).toFixed(0), String(MOST.cancelMs))
    print('  answered all the same', String(server.isAnswered(id)), 'false, unless it was done before')
  } finally {
    await server.end()
  }
}

async function ends(environment: Environment, rounds: number): Promise<void> {
  const samples: number[] = []
  for (let round = 0; round < Math.min(rounds, 5); round++) {
    // The pipe stays open in this process: only the parent goes.
    const script = `const { spawn } = require('node:child_process')
      const server = spawn(process.execPath, [${JSON.stringify(PROGRAM)}, 'mcp'], { stdio: 'inherit' })
      process.stderr.write(server.pid + '\\n')`
    const parent: ChildProcess = spawn(process.execPath, ['-e', script], {
      env: { ...process.env, ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const [pid] = (await once(parent.stderr ?? parent, 'data')) as [Buffer]
    parent.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`)
    await once(parent.stdout ?? parent, 'data')
    const started = performance.now()
    parent.kill('SIGKILL')
    while (isThere(Number(pid))) {
      await setTimeout(5)
    }
    samples.push(performance.now() - started)
    parent.stdin?.destroy()
  }
  print('mcp: gone after its parent', both(spreadOf(samples)), String(MOST.goneMs))
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // What has ended and is not collected is still in the table.
    return process.platform !== 'linux' || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

await runCommand('bench:program', 'npm run bench:program [-- --outputs N --rounds N --server-memory FILE]', main)
