// Starts saves and does not wait for them. Parameters: directory, count, end ('natural' or an exit code), file system
// ('disk' or 'slow').
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ContextManager } from '../../dist/index.js'

const [contextDir, count, end, kind] = process.argv.slice(2)
const files = new Map()
const slow = {
  readFile: async (path) => files.get(path),
  writeFile: async (path, content) => {
    await pause(5)
    files.set(path, content)
  },
  exists: async (path) => path === contextDir || files.has(path),
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
const manager = new ContextManager({ contextDir, ...(kind === 'slow' ? { fileSystem: slow } : {}) })
for (let number = 0; number < Number(count); number++) {
  manager.saveContext('pending', { number }, { number, text: 'x'.repeat(20_000) })
}
process.on('exit', () => writeSync(1, `${files.size}\n`))
if (end !== 'natural') {
  await pause(3)
  process.exit(Number(end))
}
