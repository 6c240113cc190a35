// Uses both entries of the package, and counts the completion queues. Parameters: directory.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const addon = require('../../native.cjs')
const Outbox = addon.Outbox
let queues = 0
// The entries take the class when they are first imported.
addon.Outbox = class extends Outbox {
  constructor(receive) {
    super(receive)
    queues++
  }
}

const main = await import('../../dist/index.js')
const tools = await import('../../dist/tools.js')
const manager = new main.ContextManager({ contextDir: process.argv[2] })
await manager.saveContext('search', {}, 'a result')
const [list] = tools.contextTools(manager)
const { message } = await list.execute({})
if (message !== '1 stored output listed.') {
  throw new Error(`Listed: ${message}`)
}
await manager.close()
const shared = Object.keys(tools).filter((name) => tools[name] === main[name])
console.log(JSON.stringify({ queues, shared }))
