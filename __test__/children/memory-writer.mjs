// Adds records to a memory, or summaries, or summaries of operations that all writers share:
// memory-writer.mjs ROOT HASH NAME COUNT AT_ONCE notes|summaries|operations
import process from 'node:process'
import { RepoMemory } from '../../dist/index.js'
import { inDatabase } from './storage.mjs'

const [root, repoHash, name, count, atOnce, what] = process.argv.slice(2)
const memory = await RepoMemory.open({
  repoHash,
  root,
  durability: 'process',
  lockTimeout: 60_000,
  maxSummaries: Number.POSITIVE_INFINITY,
  maxSummaryBytes: Number.POSITIVE_INFINITY,
  ...inDatabase,
})
console.log('ready')
await new Promise((resolve) => process.stdin.once('data', resolve))
let next = 0
async function work() {
  while (next < Number(count)) {
    const number = next++
    if (what === 'summaries') {
      await memory.appendSummary(name, `step-${number}`, `${name} ${number}`)
    } else if (what === 'operations') {
      await memory.appendSummary('run', `step-${number}`, name, null, { operationId: `operation-${number}` })
    } else if (number % 5 === 0) {
      await memory.upsertConvention({ title: 'Shared', content: `${name} was here` })
      await memory.upsertNote({ content: `${name} ${number}` })
    } else if (number % 5 === 1) {
      await memory.upsertConvention({ title: `${name} ${number}`, content: `${name} ${number}` })
    } else if (number % 5 === 2) {
      await memory.upsertDecision({ summary: `${name} ${number}` })
    } else {
      await memory.upsertNote({ content: `${name} ${number}` })
    }
  }
}
await Promise.all(Array.from({ length: Number(atOnce) }, work))
await memory.close()
console.log('done')
process.exit(0)
