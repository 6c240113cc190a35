// Results and arguments that were handed over must be collectable, even while their save is still under way.
// Run with --expose-gc.
import { writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { ContextManager, createToolRecorder } from '../../dist/index.js'

let release
const released = new Promise((resolve) => {
  release = resolve
})
let written = 0
const fileSystem = {
  readFile: async () => '',
  writeFile: async () => {
    await released
    written++
  },
  exists: async () => true,
  mkdir: async () => {},
  chmod: async () => {},
  resolvePath: (path) => path,
  joinPath: (...parts) => parts.join('/'),
  getHomeDir: () => '/',
  getCwd: () => '/',
  dirname: (path) => path,
  unlink: async () => {},
  readdir: async () => [],
}
const manager = new ContextManager({ contextDir: '/collected', fileSystem })
const recorder = createToolRecorder(manager)
const saves = []
const names = ['plain', 'unusual', 'recorded', 'recorded failure']

function record(name) {
  const value = {
    rows: Array.from({ length: 1000 }, (_, row) => ({ row })),
    ...(name === 'unusual' ? { big: 1n } : {}),
  }
  const args = { list: [name] }
  const context = { traceId: 't', spanId: name }
  if (name.startsWith('recorded')) {
    recorder.onAgentStart(context, 'a question')
    recorder.onToolStart(context, name, args)
    const response =
      name === 'recorded'
        ? { success: true, result: value, message: 'm' }
        : { success: false, error: 'e', message: 'm', result: value }
    recorder.onToolEnd(context, name, response)
  } else {
    saves.push(manager.saveContext(name, args, value))
  }
  return [new WeakRef(value), new WeakRef(args), new WeakRef(value.rows)]
}

const references = names.map(record)
let alive = names
for (let attempt = 0; attempt < 50 && alive.length > 0; attempt++) {
  await pause(10) // what a job made stays alive until its end
  globalThis.gc()
  alive = names.filter((_, index) => references[index].some((reference) => reference.deref() !== undefined))
}
const writtenBefore = written
release()
await Promise.all(saves)
await recorder.flush()
writeSync(1, `${JSON.stringify({ alive, writtenBefore, size: manager.size })}\n`)
