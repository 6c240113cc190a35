// Offloads the outputs of a JSON file, with their arguments in the reverse order, and prints the texts, a line of JSON each.
import { readFileSync, writeSync } from 'node:fs'
import { ContextManager } from '../../dist/index.js'
import { inDatabase } from './storage.mjs'

const [contextDir, outputs] = process.argv.slice(2)
const manager = new ContextManager({ contextDir, ...inDatabase })
for (const { toolName, args, result } of JSON.parse(readFileSync(outputs, 'utf8'))) {
  const reversed = Object.fromEntries(Object.entries(args).reverse())
  const { text } = await manager.offload(toolName, reversed, result)
  writeSync(1, `${JSON.stringify(text)}\n`)
}
await manager.clear()
