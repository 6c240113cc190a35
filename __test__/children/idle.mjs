// Managers that have nothing to do must let the process end. Parameters: directory, kind.
import { join } from 'node:path'
import { ContextManager, createToolRecorder } from '../../dist/index.js'

const [contextDir, kind] = process.argv.slice(2)
const files = new Map()
const fileSystem = {
  readFile: async (path) => files.get(path),
  writeFile: async (path, content) => void files.set(path, content),
  exists: async (path) => files.has(path),
  mkdir: async () => {},
  chmod: async () => {},
  resolvePath: (path) => path,
  joinPath: (...parts) => join(...parts),
  getHomeDir: () => '/',
  getCwd: () => '/',
  dirname: (path) => path,
  unlink: async (path) => void files.delete(path),
  readdir: async () => [],
}
const manager = new ContextManager({
  contextDir,
  ...(kind === 'file-system' ? { fileSystem } : {}),
  ...(kind === 'debug' ? { onDebug: () => {} } : {}),
  ...(kind === 'large' ? { persist: 'large' } : {}),
})
globalThis.kept = manager // it is idle, not collected
if (kind !== 'untouched') {
  const paths = await Promise.all([1, 2, 3].map((number) => manager.saveContext('idle', { number }, number)))
  await manager.loadContexts(paths)
}
if (kind === 'recorder') {
  const recorder = createToolRecorder(manager)
  recorder.onToolStart({ traceId: 't', spanId: 's' }, 'never_ends', {})
  await recorder.flush()
}
if (kind === 'signal') {
  const { signal } = new AbortController()
  await manager.sweep({ signal })
  await manager.listContexts(undefined, { signal })
}
