// Twice 10 000 outputs of 20 KB through a manager with a budget of 16 MiB. Parameters: directory.
import { writeSync } from 'node:fs'
import { ContextManager } from '../../index.js'

const [contextDir] = process.argv.slice(2)
const manager = new ContextManager({ contextDir, memoryBudget: 16 * 1024 * 1024, retention: { maxFiles: Infinity } })
const TEXT = 'The quick brown fox jumps over the lazy dog. '.repeat(500)
const paths = []

async function save(from, to) {
  let next = from
  const one = async () => {
    while (next < to) {
      const number = next++
      paths[number] = await manager.saveContext('produce', { number }, `${number}:${TEXT}`.slice(0, 20_000))
    }
  }
  await Promise.all(Array.from({ length: 16 }, one))
}

await save(0, 10_000)
const halfway = process.memoryUsage().rss
await save(10_000, 20_000)
const end = process.memoryUsage().rss
const { memoryBytes, diskContexts } = manager.stats()

let whole = 0
for (let number = 0; number < 20_000; number += 97) {
  const { args, result } = await manager.loadContext(paths[number])
  if (args.number === number && result.length === 20_000 && result.startsWith(`${number}:The`)) {
    whole++
  }
}
const sample = Math.ceil(20_000 / 97)
await manager.clear()
writeSync(1, `${JSON.stringify({ halfway, end, memoryBytes, diskContexts, whole, sample })}\n`)
