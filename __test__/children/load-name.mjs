// Loads the package by its own name, both ways, as a user's code does. Parameters: directory.
import { createRequire } from 'node:module'
import * as everything from 'agent-context'
import { use } from './use.mjs'

const required = createRequire(import.meta.url)('agent-context')
if (required.ContextManager !== everything.ContextManager) {
  throw new Error('import and require give different classes')
}
for (const inner of [
  'agent-context/native.cjs',
  'agent-context/dist/addon.js',
  'agent-context/lib/index.ts',
  'agent-context/src/lib.rs',
]) {
  await import(inner).then(
    () => {
      throw new Error(`${inner} can be imported`)
    },
    (error) => {
      if (error.message.endsWith('can be imported')) {
        throw error
      }
    },
  )
}
await use(everything, process.argv[2])
