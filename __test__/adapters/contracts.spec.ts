/** `agent-context/testing`: the frameworks' own implementations keep the contracts, and so do those over a `StateStore`. */

import { join } from 'node:path'
import process from 'node:process'
import { InMemorySessionStore } from '@anthropic-ai/claude-agent-sdk'
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node'
import { MemorySaver } from '@langchain/langgraph-checkpoint'
import { MemorySession } from '@openai/agents-core'
import { StateStore } from 'agent-context'
import { StateSaver } from 'agent-context/langgraph'
import {
  checkpointerContract,
  fileBackendContract,
  memoryContract,
  sessionContract,
  sessionStoreContract,
} from 'agent-context/testing'
import { FilesystemBackend } from 'deepagents'
import { expect, test } from 'vitest'
import { newDirectory, runGuide } from './support/fixtures.ts'

/** The URL of a database in which the stores are, in place of files. */
const storage = process.env['AGENT_CONTEXT_TEST_DATABASE'] || undefined

const stores = new WeakMap<StateSaver, StateStore>()
function openSaver(path: string): StateSaver {
  const state = new StateStore({ path, storage })
  const saver = new StateSaver(state)
  stores.set(saver, state)
  return saver
}

checkpointerContract({
  name: 'StateSaver',
  create: () => openSaver(join(newDirectory(), 'state.db')),
  reopen: (saver) => openSaver(stores.get(saver)?.path ?? ''),
  destroy: (saver) => stores.get(saver)?.close(),
  test,
})

checkpointerContract({ name: 'MemorySaver', create: () => new MemorySaver(), test })
sessionContract({ name: 'MemorySession', create: () => new MemorySession(), test })
sessionStoreContract({ name: 'InMemorySessionStore', create: () => new InMemorySessionStore(), test })
memoryContract({
  name: 'BetaLocalFilesystemMemoryTool',
  create: () => BetaLocalFilesystemMemoryTool.init(newDirectory()),
  test,
})
fileBackendContract({
  name: 'FilesystemBackend',
  create: () => new FilesystemBackend({ rootDir: newDirectory(), virtualMode: true }),
  test,
})

test('the checkpointer contract finds a checkpointer that keeps the writes of deleted threads', async () => {
  const failures: string[] = []
  const runs: Promise<unknown>[] = []
  class Keeping extends MemorySaver {
    override async deleteThread(): Promise<void> {}
  }
  checkpointerContract({
    name: 'Keeping',
    create: () => new Keeping(),
    test: (name, run) => runs.push(run().catch(() => failures.push(name))),
  })
  await Promise.all(runs)
  expect(failures).toEqual(['Keeping deletes a thread with its writes, and no other'])
})

test('the guide runs', () => {
  const modules = {
    'memory.ts': `
import { memoryHandlers } from 'agent-context/anthropic'
import { StateStore } from 'agent-context'
export const openMemory = (path: string) => {
  const state = new StateStore({ path })
  return Object.assign(memoryHandlers(state), { path, close: () => state.close() })
}
`,
  }
  const output = runGuide('testing', modules)
  expect(output).toMatch(/pass 12\b/)
  expect(output).toMatch(/fail 0\b/)
})
