// Saves without pause with the same arguments, 16 at a time, and prints every path once it is acknowledged.
// Parameters: directory, count, name of the storm, bytes of a result.
import { writeSync } from 'node:fs'
import { ContextManager } from '../../dist/index.js'

const [contextDir, count, name, bytes] = process.argv.slice(2)
const manager = new ContextManager({ contextDir })
let next = 0

async function save() {
  while (next < Number(count)) {
    const number = next++
    const path = await manager.saveContext(
      'storm',
      { same: 'arguments' },
      { name, number, text: 'é'.repeat(bytes / 2) },
    )
    writeSync(1, `${path}\n`)
  }
}

await Promise.all(Array.from({ length: 16 }, save))
