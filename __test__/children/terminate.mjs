// Terminates worker threads in the middle of their saves, ten times, while the main thread saves too.
// Parameters: directory.
import { writeSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { ContextManager } from '../../dist/index.js'

const [contextDir] = process.argv.slice(2)
const manager = new ContextManager({ contextDir })
for (let round = 0; round < 10; round++) {
  const workers = Array.from(
    { length: 2 },
    () => new Worker(new URL('./worker.mjs', import.meta.url), { workerData: { contextDir, endless: true } }),
  )
  await Promise.all(
    workers.map(
      (worker) =>
        new Promise((resolve, reject) => {
          worker.once('message', resolve)
          worker.once('error', reject)
        }),
    ),
  )
  const saves = Array.from({ length: 20 }, (_, number) => manager.saveContext('main_tool', { number }, round))
  await Promise.all(workers.map((worker) => worker.terminate()))
  await Promise.all(saves)
}
writeSync(1, `${manager.size}\n`)
