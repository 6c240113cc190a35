// Calls that are over, with timeouts of an hour: no timer may keep the process alive.
import { writeSync } from 'node:fs'
import { ContextManager } from '../../dist/index.js'

const HOUR = 3_600_000
const files = new Map()
const fileSystem = {
  readFile: async (path) => files.get(path),
  writeFile: async (path, content) => void files.set(path, content),
  exists: async (path) => path === '/timeouts' || files.has(path),
  mkdir: async () => {},
  chmod: async () => {},
  resolvePath: (path) => path,
  joinPath: (...parts) => parts.join('/'),
  getHomeDir: () => '/',
  getCwd: () => '/',
  dirname: (path) => path.slice(0, path.lastIndexOf('/')),
  unlink: async (path) => void files.delete(path),
  readdir: async () => [...files.keys()].map((path) => path.slice('/timeouts/'.length)),
}
const manager = new ContextManager({
  contextDir: '/timeouts',
  fileSystem,
  fileSystemTimeout: HOUR,
  closeTimeout: HOUR,
})
await manager.saveContext('tool', { q: 'a tree' }, 1)
const controller = new AbortController()
const stopped = manager.selectContexts('tree', {
  embed: () => new Promise(() => {}),
  embedTimeout: HOUR,
  signal: controller.signal,
})
setImmediate(() => controller.abort())
await stopped.catch(() => {})
await manager.selectContexts('tree', {
  embed: (texts) => texts.map(() => [1]),
  embedTimeout: HOUR,
  selector: () => ({ context_ids: [1] }),
  selectorTimeout: HOUR,
})
await manager.close()
writeSync(1, 'done\n')
