// A process of a fleet, which shares nothing with the others but a database: stores outputs, an entry and a convention, and prints the
// handles. With a third parameter, it waits for its end instead of closing what it opened.
import { writeSync } from 'node:fs'
import process from 'node:process'
import { ContextManager, ContextStore, RepoMemory } from '../../dist/index.js'

const [storage, number, waits] = process.argv.slice(2)
const manager = new ContextManager({ storage, contextDir: 'fleet', sessionId: `worker-${number}` })
const handles = []
for (let output = 0; output < 5; output += 1) {
  const text = `${'line\n'.repeat(8000)}of ${number}, ${output}`
  const { handle, error } = await manager.offload('tool', { number, output }, text)
  if (error !== undefined) {
    throw error
  }
  handles.push(handle)
}
const store = new ContextStore({ storage, path: 'fleet', agent: `agent-${number}` })
await store.write({ type: 'finding', slug: 'one', content: `Found by ${number}.` })
const memory = await RepoMemory.open({ storage, root: 'fleet', repoHash: '0123456789abcdef'.repeat(4) })
await memory.upsertConvention({ title: `Convention of ${number}`, content: 'Tabs.' })
await memory.appendSummary('run', `step-${number}`, `Summary of ${number}`).catch(() => {})
writeSync(1, `${JSON.stringify(handles)}\n`)
if (waits === undefined) {
  await Promise.all([manager.close(), store.close(), memory.close()])
} else {
  setInterval(() => {}, 1000)
}
