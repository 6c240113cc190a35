// Writes and supersedes until it is killed, and says what was acknowledged: store-writer.mjs DIRECTORY AGENT
import process from 'node:process'
import { ContextStore } from '../../dist/index.js'
import { inDatabase } from './storage.mjs'

const [path, agent] = process.argv.slice(2)
const store = new ContextStore({ agent, path, durability: 'process', lockTimeout: 60_000, ...inDatabase })
for (let number = 0; ; number++) {
  const { path: old } = await store.write({ type: 'finding', slug: 'storm', content: `${agent} ${number}` })
  console.log(`written ${old}`)
  const draft = { type: 'decision', slug: 'storm', content: `${agent} ${number}, again` }
  const { replacement } = await store.supersede(old, draft, `number ${number}`)
  console.log(`superseded ${old} ${replacement.path}`)
}
