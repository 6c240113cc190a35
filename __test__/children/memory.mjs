// Four times 10 000 outputs of 20 KB through a manager with a budget of 16 MiB. Parameters: directory.
import { writeSync } from 'node:fs'
import { ContextManager } from '../../dist/index.js'

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

const resident = []
for (let mark = 10_000; mark <= 40_000; mark += 10_000) {
  await save(mark - 10_000, mark)
  resident.push(process.memoryUsage().rss)
}
const { memoryBytes, diskContexts } = manager.stats()

let whole = 0
for (let number = 0; number < 40_000; number += 97) {
  const { args, result } = await manager.loadContext(paths[number])
  if (args.number === number && result.length === 20_000 && result.startsWith(`${number}:The`)) {
    whole++
  }
}
const sample = Math.ceil(40_000 / 97)
await manager.clear()
writeSync(1, `${JSON.stringify({ resident, memoryBytes, diskContexts, whole, sample })}\n`)
