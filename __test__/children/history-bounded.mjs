// Appends to a history that compacts itself, beside other processes: path, name, how many, maxEntries, maxBytes.
import process from 'node:process'
import { ContextHistory } from '../../dist/index.js'

const [path, name, count, maxEntries, maxBytes] = process.argv.slice(2)
const told = []
const onDebug = (message) => told.push(message)
const history = new ContextHistory({
  path,
  storage: process.env.AGENT_CONTEXT_TEST_DATABASE,
  maxEntries: Number(maxEntries),
  maxBytes: Number(maxBytes),
  onDebug,
})
for (let number = 0; number < Number(count); number++) {
  await history.append({ toolName: name, params: { number }, result: 'x'.repeat(200) })
}
await history.close()
console.log(JSON.stringify(told))
