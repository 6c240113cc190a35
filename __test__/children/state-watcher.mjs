// Watches a state store and prints each change: its type and key. Parameter: path. Ends with a line on its standard input.
import { writeSync } from 'node:fs'
import { StateStore } from '../../dist/index.js'

const store = new StateStore({ path: process.argv[2] })
const { cursor } = await store.stats()
process.stdin.once('data', () => store.close())
writeSync(1, 'ready\n')
for await (const { type, key } of store.watch([], { since: cursor })) {
  writeSync(1, `${type} ${key}\n`)
}
process.exit()
