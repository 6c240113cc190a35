/** Two servers, this process with the library, and hooks, all writing to the same places at once. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { ContextHistory, ContextManager, ContextStore } from '../../dist/index.js'
import { agentContext, agentContextJson, environmentIn, PROGRAM, placesIn } from './command-line.ts'
import { connect } from './mcp.ts'

/** Calls of a server, and hooks, that are on their way at a time. */
const CALLERS = 3
const HOOKS = 2

export interface StormReport {
  /** Writes that were acknowledged, by the writer. */
  readonly acknowledged: Readonly<Record<'server' | 'library' | 'hook', number>>
  /** Acknowledged writes that were not found afterwards. */
  readonly lost: readonly string[]
  /** What `agent-context verify` says is damaged. */
  readonly corrupt: readonly unknown[]
}

export async function storm(directory: string, seconds: number): Promise<StormReport> {
  const places = placesIn(directory)
  const acknowledged = { server: 0, library: 0, hook: 0 }
  /** By the handle, the text that it has to hold. */
  const outputs = new Map<string, string>()
  const entries = new Set<string>()
  const storeEntries = new Set<string>()
  const end = Date.now() + seconds * 1000
  const repeat = async (work: (number: number) => Promise<void>): Promise<void> => {
    for (let number = 0; Date.now() < end; number++) {
      await work(number)
    }
  }

  const servers = await Promise.all([connect(directory), connect(directory)])
  const manager = new ContextManager({ contextDir: places.dir, sessionId: 'library' })
  const history = new ContextHistory({ path: places.history })
  const serverWork = servers.flatMap(({ call }, server) =>
    Array.from({ length: CALLERS }, (_, caller) =>
      repeat(async (number) => {
        const name = `server-${server}-${caller}-${number}`
        if (number % 3 === 2) {
          const { text, isError } = await call('context_write', { slug: name, type: 'finding', content: name })
          confirm(!isError, text)
          storeEntries.add(name)
        } else {
          const { text, isError } = await call('store_output', {
            tool: 'storm',
            args: { name },
            result: `output ${name}`,
          })
          confirm(!isError, text)
          outputs.set(handleIn(text), `output ${name}`)
        }
        acknowledged.server += 1
      }),
    ),
  )
  const libraryWork = repeat(async (number) => {
    const name = `library-${number}`
    const [path] = await Promise.all([
      manager.saveContext('storm', { name }, `output ${name}`),
      history.append({ toolName: name, params: {}, result: name }),
    ])
    outputs.set(path, `output ${name}`)
    entries.add(name)
    acknowledged.library += 1
  })
  const hookWork = Array.from({ length: HOOKS }, (_, caller) =>
    repeat(async (number) => {
      const name = `hook-${caller}-${number}`
      const event = {
        session_id: `hook-${caller}`,
        cwd: directory,
        tool_name: name,
        tool_input: {},
        tool_response: { stdout: `output ${name}\n`.repeat(1500), stderr: '' },
      }
      const { stdout } = await agentContext(directory, ['hook', 'claude-code', 'post-tool-use'], {
        input: JSON.stringify(event),
      })
      outputs.set(handleIn(stdout), `output ${name}`)
      entries.add(name)
      acknowledged.hook += 1
    }),
  )
  try {
    await Promise.all([...serverWork, libraryWork, ...hookWork])
  } finally {
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()))
    await manager.close()
    await history.close()
  }

  const lost: string[] = []
  const reader = new ContextManager({ contextDir: places.dir })
  for (const [handle, expected] of outputs) {
    const slice = await reader.readContext(handle, { maxBytes: 4096 }).catch(() => undefined)
    if (slice?.text.includes(expected) !== true) {
      lost.push(`${handle}: ${expected}`)
    }
  }
  const found = new Set(
    (await new ContextHistory({ path: places.history }).search({ limit: 1_000_000 })).map((entry) => entry.toolName),
  )
  const listed = await new ContextStore({ agent: 'reader', path: places.store }).list()
  const slugs = listed.map(({ path }) => path)
  lost.push(...[...entries].filter((name) => !found.has(name)))
  lost.push(...[...storeEntries].filter((name) => !slugs.some((path) => path.endsWith(`-${name}.md`))))
  const { items } = await agentContextJson<{ items: { problems: unknown[] }[] }>(directory, ['verify'])
  return { acknowledged, lost, corrupt: items.flatMap(({ problems }) => problems) }
}

function confirm(isTrue: boolean, message: string): void {
  if (!isTrue) {
    throw new Error(message)
  }
}

function handleIn(text: string): string {
  const [handle] = /ctx_[0-9a-f]+/.exec(text) ?? []
  confirm(handle !== undefined, text)
  return handle ?? ''
}

/** Starts so many hooks at once; resolves to their answers and process ids when the last one has ended. */
export async function hooksAtOnce(
  directory: string,
  count: number,
  eventOf: (index: number) => object,
): Promise<{ answers: string[]; pids: number[] }> {
  const children = Array.from({ length: count }, (_, index) => {
    const child = spawn(process.execPath, [PROGRAM, 'hook', 'claude-code', 'post-tool-use'], {
      env: environmentIn(directory),
      cwd: directory,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    child.stdin.end(JSON.stringify(eventOf(index)))
    return child
  })
  const answers = await Promise.all(
    children.map(async (child) => {
      let text = ''
      child.stdout.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      const [code] = (await once(child, 'close')) as [number | null]
      confirm(code === 0, `a hook ended with ${code}: ${text}`)
      return text
    }),
  )
  return { answers, pids: children.map(({ pid }) => pid ?? 0) }
}
