/** A worker of the fleet: takes tasks until none is left. Everything that it keeps is in the database. */

import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { type ContextError, ContextHistory, ContextManager, ContextStore, StateStore } from '../../dist/index.js'

/** Where the tasks are in the state. */
export const TASKS = ['tasks']

export type Task = { file: string; size: number; takenBy?: string; handle?: string }

/** In place of a tool with a large output. */
const readFile = ({ file, size }: Task): string => `export const ${file} = 1 // ${file}\n`.repeat(size / 20)

/** Takes a task that is free, if there is one. Of two workers that take the same task, the second finds another revision. */
async function take(state: StateStore, name: string): Promise<Task | undefined> {
  for (;;) {
    const { items } = await state.list(TASKS)
    const free = items.find(({ value }) => (value as Task).takenBy === undefined)
    if (free === undefined) {
      return undefined
    }
    const task = { ...(free.value as Task), takenBy: name }
    try {
      await state.put(TASKS, free.key, task, { ifRevision: free.revision })
      return task
    } catch (error) {
      if ((error as ContextError).code !== 'ERR_CONTEXT_CONFLICT') {
        throw error
      }
    }
  }
}

async function work(name: string, project: string, storage: string): Promise<void> {
  await using state = new StateStore({ path: project, storage })
  const manager = new ContextManager({ contextDir: project, sessionId: name, resume: true, storage })
  const history = new ContextHistory({ path: project, storage })
  const store = new ContextStore({ path: project, agent: name, storage })
  let longest: Task | undefined
  for (;;) {
    const task = await take(state, name)
    if (task === undefined) {
      break
    }
    const { handle, text } = await manager.offload('read_file', { path: `src/${task.file}.ts` }, readFile(task))
    await history.append({
      toolName: 'read_file',
      params: { file: task.file },
      result: text,
      summary: `read by ${name}`,
    })
    await state.put(TASKS, task.file, { ...task, ...(handle === undefined ? {} : { handle }) })
    longest = longest !== undefined && longest.size > task.size ? longest : task
  }
  if (longest !== undefined) {
    const content = `The longest file that I read is src/${longest.file}.ts.`
    await store.write({ type: 'finding', slug: 'longest', content })
  }
  await Promise.all([history.close(), store.close()])
  // Pauses the session: another machine may resume it.
  await manager.close()
}

const [, script, name, project] = process.argv
if (script === fileURLToPath(import.meta.url) && name !== undefined && project !== undefined) {
  await work(name, project, process.env['DATABASE_URL'] ?? '')
}
