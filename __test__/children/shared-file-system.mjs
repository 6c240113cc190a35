// Histories of one file in one injected file system share its queue, even after the first of them was garbage-collected.
// Run with --expose-gc.
import { writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { ContextHistory } from '../../dist/index.js'

const files = new Map()
const fileSystem = {
  readFile: async (path) => {
    if (!files.has(path)) {
      throw Object.assign(new Error(`no ${path}`), { code: 'ENOENT' })
    }
    return files.get(path)
  },
  writeFile: async (path, content) => {
    files.set(path, content)
  },
  appendFile: async (path, content) => {
    files.set(path, (files.get(path) ?? '') + content)
  },
  exists: async (path) => files.has(path) || path === '/shared',
  mkdir: async () => {},
  chmod: async () => {},
  resolvePath: (path) => path,
  joinPath: (...parts) => parts.join('/'),
  getHomeDir: () => '/',
  getCwd: () => '/',
  dirname: () => '/shared',
  unlink: async (path) => {
    files.delete(path)
  },
  readdir: async () => [],
}
const path = '/shared/context.jsonl'

/** In a function of its own: nothing else keeps it. */
async function useFirst() {
  const first = new ContextHistory({ path, fileSystem })
  await first.append({ toolName: 'first' })
  return new WeakRef(first)
}

const watched = await useFirst()
const second = new ContextHistory({ path, fileSystem })
for (let round = 0; round < 50 && watched.deref() !== undefined; round++) {
  // What was looked at lives until its turn of the event loop ends.
  await pause(10)
  globalThis.gc()
}
await second.append({ toolName: 'second' })
const tools = (await second.read()).map((entry) => entry.toolName)
writeSync(1, `${JSON.stringify({ isCollected: watched.deref() === undefined, tools })}\n`)
