// Writes and reads a value of a state store and prints the most memory that each took beside what was there, in bytes (Linux).
// Parameters: path, how many bytes the value has, `bytes` or `text`.
import { Buffer } from 'node:buffer'
import { readFileSync, writeFileSync, writeSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { StateStore } from '../../dist/index.js'

const [path, size, kind] = process.argv.slice(2)
const length = Number(size)
// A text of one piece: one of `repeat` is put together by its first use, in the measured call.
const text = () => Buffer.alloc(length - 2, 'x').toString('latin1')
const value = kind === 'bytes' ? new Uint8Array(length).fill(7) : text()
const store = new StateStore({ path })
await store.put(['a'], 'small', 1)

function status(name) {
  const found = new RegExp(`^${name}:\\s*(\\d+) kB`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))
  return Number(found[1]) * 1024
}

async function measure(work) {
  globalThis.gc()
  // Memory of buffers is given back in the background.
  await setTimeout(100)
  writeFileSync('/proc/self/clear_refs', '5') // the peak counts from here
  const before = status('VmRSS')
  const result = await work()
  writeSync(1, `${status('VmHWM') - before}\n`)
  return result
}

await measure(() => store.put(['a'], 'large', value))
const read = await measure(() => store.get(['a'], 'large'))
if (read.value.length !== value.length) {
  throw new Error(`${read.value.length} of ${value.length}`)
}
await store.close()
