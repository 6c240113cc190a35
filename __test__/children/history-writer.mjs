// Appends numbered records as fast as it can once its standard input says so. Ends after `count` of them, or when its
// standard input ends. Fails at the first append that does. Prints what it did.
// Parameters: path, name, count, bytes of a line, appends in flight, pause after each of them in ms.
import { writeSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { ContextHistory } from '../../dist/index.js'
import { makeRecord } from './history-records.mjs'

const [path, name, count, bytes, inFlight, pause] = process.argv.slice(2)
const history = new ContextHistory({ path })
let next = 0
let longestWait = 0
let isOver = false

async function append() {
  while (next < Number(count) && !isOver) {
    const record = makeRecord(name, next++, Number(bytes))
    const begin = performance.now()
    await history.append(record)
    longestWait = Math.max(longestWait, performance.now() - begin)
    if (Number(pause) > 0) {
      await setTimeout(Number(pause))
    }
  }
}

process.stdin.on('end', () => {
  isOver = true
})
process.stdin.once('data', async () => {
  await Promise.all(Array.from({ length: Number(inFlight) }, append))
  writeSync(1, `${JSON.stringify({ count: next, longestWait })}\n`)
  // Deno stays while its standard input is open, destroyed or not.
  process.exit()
})
writeSync(1, 'ready\n')
