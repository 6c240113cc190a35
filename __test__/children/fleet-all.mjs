// A process that uses all classes with `storage`: `fleet-all.mjs STORAGE NAME [waits]`, where STORAGE is JSON. Prints what came of it as JSON,
// or the code of the error; with `waits`, it then stays until its standard input ends.
import { writeSync } from 'node:fs'
import process from 'node:process'
import { ContextHistory, ContextManager, ContextStore, RepoMemory, StateStore } from '../../dist/index.js'

const [given, name, waits] = process.argv.slice(2)
const storage = JSON.parse(given)
const path = 'all'
const print = (value) => writeSync(1, `${JSON.stringify(value)}\n`)
try {
  const manager = new ContextManager({ storage, contextDir: path, sessionId: name, resume: true })
  const history = new ContextHistory({ storage, path })
  const state = new StateStore({ storage, path })
  const store = new ContextStore({ storage, path, agent: name })
  const memory = await RepoMemory.open({ storage, root: path, repoHash: '0123456789abcdef'.repeat(4) })
  const [filepath, { id }] = await Promise.all([
    manager.saveContext('tool', { name }, `output of ${name}`),
    history.append({ toolName: name }),
    state.put(['names'], name, Date.now(), { ttl: '1h' }),
    store.write({ type: 'finding', slug: 'one', content: `finding of ${name}` }),
    memory.upsertNote({ content: `note of ${name}` }),
  ])
  print({ filepath, id, now: Date.now() })
  if (waits !== undefined) {
    await new Promise((ended) => process.stdin.on('end', ended).resume())
  }
  await Promise.all([manager.close(), history.close(), state.close(), store.close(), memory.close()])
} catch ({ code, message }) {
  print({ code, message })
}
