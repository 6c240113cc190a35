/**
 * Four worker processes without a common directory, without a model: each has a home directory and a working directory of its own, and
 * shares with the others only a database. They take tasks from one list, keep their outputs, append to one history and share findings.
 * Afterwards this process loads all outputs by their handles.
 *
 *   DATABASE_URL=postgres://agents@localhost/agents npm run example:fleet
 */

import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
// In your project: import { ContextHistory, ContextManager, ContextStore, StateStore } from 'agent-context'
import { ContextHistory, ContextManager, ContextStore, StateStore } from '../../dist/index.js'
import { TASKS, type Task } from './worker.ts'

const WORKERS = ['ada', 'bo', 'chen', 'dana']
const FILES = [
  'cart',
  'login',
  'invoice',
  'search',
  'tax',
  'stock',
  'mail',
  'report',
  'refund',
  'coupon',
  'export',
  'audit',
]
const SCRIPT = fileURLToPath(new URL('./worker.ts', import.meta.url))

/** Runs a worker as on a machine of its own, and returns the files that it left on its disk. */
async function runWorker(name: string, project: string, storage: string): Promise<string[]> {
  const home = await mkdtemp(join(tmpdir(), `agent-context-${name}-`))
  try {
    const env = { PATH: process.env['PATH'], HOME: home, DATABASE_URL: storage }
    const loader = process.execArgv.map((parameter) => (parameter === 'tsx' ? import.meta.resolve('tsx') : parameter))
    const parameters = [...loader, SCRIPT, name, project]
    const worker = spawn(process.execPath, parameters, { cwd: home, env, stdio: ['ignore', 'inherit', 'inherit'] })
    const [code] = (await once(worker, 'exit')) as [number | null]
    if (code !== 0) {
      throw new Error(`worker ${name} failed`)
    }
    // Runtimes may keep caches of what they compiled.
    return (await readdir(home)).filter((file) => file !== '.bun' && file !== '.cache')
  } finally {
    await rm(home, { recursive: true })
  }
}

async function main(storage: string): Promise<void> {
  // The names of all data of this run in the database, where they stay.
  const project = `fleet-example-${randomUUID().slice(0, 8)}`
  await using state = new StateStore({ path: project, storage })
  await state.batch(
    FILES.map((file, number) => {
      const task: Task = { file, size: 20_000 * (1 + number) }
      return { type: 'put', namespace: TASKS, key: file, value: task }
    }),
  )
  const left = await Promise.all(WORKERS.map((name) => runWorker(name, project, storage)))
  show('Workers', `${WORKERS.length} processes, ${left.flat().length} files on their disks`)

  const { items } = await state.list(TASKS)
  const takers = items.map(({ value }) => (value as Task).takenBy ?? 'nobody')
  show('Tasks', `${takers.length}, each taken once, by ${new Set(takers).size} workers`)

  const history = new ContextHistory({ path: project, storage })
  const entries = await history.read()
  show('History', `${entries.length} entries, the first ${entries[0]?.summary}`)

  const manager = new ContextManager({ contextDir: project, storage })
  const handles = items.map(({ value }) => (value as Task).handle ?? '')
  const outputs = await manager.loadContexts(handles)
  const characters = outputs.reduce((sum, { result }) => sum + String(result).length, 0)
  show('Outputs', `${outputs.length} of ${handles.length} handles were loaded, ${characters} characters`)

  await using store = new ContextStore({ path: project, agent: 'reader', storage })
  const findings = await store.search({ query: 'longest file', ranked: true })
  show('Findings', findings.map(({ agent, content }) => `${agent}: ${content.trim()}`).join('\n'))
  show('Kept', `everything, in the namespace ${project}`)
  await Promise.all([manager.close(), history.close()])
}

function show(title: string, text: string): void {
  console.log(`${title.padEnd(10)} ${text.replaceAll('\n', `\n${' '.repeat(11)}`)}`)
}

const { DATABASE_URL } = process.env
if (DATABASE_URL === undefined) {
  console.error(
    'Set DATABASE_URL to the URL of a PostgreSQL database, as in DATABASE_URL=postgres://user:password@host/database',
  )
  process.exitCode = 1
} else {
  await main(DATABASE_URL)
}
