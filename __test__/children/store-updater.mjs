// Changes an entry of a context store again and again: store-updater.mjs DIRECTORY ENTRY AGENT COUNT AT_ONCE
import process from 'node:process'
import { ContextStore } from '../../dist/index.js'
import { inDatabase } from './storage.mjs'

const [path, entry, agent, count, atOnce] = process.argv.slice(2)
const store = new ContextStore({ agent, path, durability: 'process', lockTimeout: 60_000, ...inDatabase })
console.log('ready')
await new Promise((resolve) => process.stdin.once('data', resolve))
let next = 0
async function work() {
  while (next < Number(count)) {
    const number = next++
    await store.update(entry, { addTags: [`${agent}-${number % 10}`] }, `${agent} ${number}`)
  }
}
await Promise.all(Array.from({ length: Number(atOnce) }, work))
await store.close()
console.log('done')
process.exit(0)
