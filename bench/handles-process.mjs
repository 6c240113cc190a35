// One process of `bench/handles.ts`: redeems the first handle (cold), then the others (warm), and prints the times as JSON.
import { performance } from 'node:perf_hooks'
import { ContextManager } from '../dist/index.js'

const [contextDir, ...handles] = process.argv.slice(2)
const manager = new ContextManager({ contextDir })
const times = []
for (const handle of handles) {
  const start = performance.now()
  await manager.loadContext(handle)
  times.push(performance.now() - start)
}
const [coldMs, ...warm] = times
const sorted = [...warm].sort((one, other) => one - other)
console.log(JSON.stringify({ coldMs, warmMs: sorted[Math.floor(sorted.length / 2)] }))
