/**
 * A conversation that survives its process, without a model and without a network: an agent writes a checkpoint after each step
 * and is killed in the middle; another process resumes the conversation from the last checkpoint.
 *
 *   npm run example:state
 */

import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
// In your project: import { StateStore } from 'agent-context'
import { StateStore } from '../dist/index.js'

const THREAD = ['threads', 'trip-to-lisbon']
const STEPS = ['find flights', 'compare hotels', 'check the weather', 'draw up a plan', 'write the answer']

type Checkpoint = { step: number; messages: string[] }

/** The agent: continues from the last checkpoint, one step after the other. */
async function work(path: string): Promise<void> {
  await using store = new StateStore({ path })
  const saved = await store.get(THREAD, 'checkpoint')
  let revision = saved?.revision ?? null
  let { step, messages } = (saved?.value ?? { step: 0, messages: ['user: Plan my trip to Lisbon'] }) as Checkpoint
  console.log(`  process ${process.pid}: ${step === 0 ? 'a new conversation' : `goes on after "${STEPS[step - 1]}"`}`)
  for (; step < STEPS.length; step++) {
    await setTimeout(100)
    messages = [...messages, `agent: ${STEPS[step]}: done`]
    // If two processes work on one thread, the write of the second one is refused here.
    const item = await store.put(THREAD, 'checkpoint', { step: step + 1, messages }, { ifRevision: revision })
    revision = item.revision
    console.log(`  process ${process.pid}: ${STEPS[step]}`)
  }
}

/** Starts the agent in a process of its own. */
function start(path: string) {
  const parameters = [...process.execArgv, fileURLToPath(import.meta.url), path]
  const agent = spawn(process.execPath, parameters, { stdio: ['ignore', 'inherit', 'inherit'] })
  return { agent, ended: new Promise<void>((resolve) => agent.on('close', () => resolve())) }
}

async function main(): Promise<void> {
  // The default, ~/.agent/state.db, belongs to your agents.
  const directory = await mkdtemp(join(tmpdir(), 'agent-context-state-'))
  const path = join(directory, 'state.db')
  try {
    await using store = new StateStore({ path })
    console.log('A conversation is checkpointed after each step')
    const first = start(path)
    for await (const { type } of store.watch(THREAD)) {
      const { step } = ((await store.get(THREAD, 'checkpoint'))?.value ?? { step: 0 }) as Checkpoint
      if (type === 'put' && step >= 2) {
        break
      }
    }
    first.agent.kill('SIGKILL')
    await first.ended
    console.log('Killed. Another process takes it up')
    await start(path).ended
    const { messages } = ((await store.get(THREAD, 'checkpoint'))?.value ?? { messages: [] }) as Checkpoint
    console.log(`The conversation has ${messages.length} messages, each step once:`)
    for (const message of messages) {
      console.log(`  ${message}`)
    }
  } finally {
    await rm(directory, { recursive: true })
  }
}

const [path] = process.argv.slice(2)
await (path === undefined ? main() : work(path))
