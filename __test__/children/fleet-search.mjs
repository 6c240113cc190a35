// A process of a fleet: a manager of its own searches all sessions, and prints what it found and the bytes that it received for that.
// Parameters: the database, the directory, the queries as JSON.
import { writeSync } from 'node:fs'
import process from 'node:process'
import { ContextManager } from '../../dist/index.js'

const [storage, contextDir, queries] = process.argv.slice(2)
const manager = new ContextManager({ storage, contextDir, sessionId: 'searcher' })
const found = []
for (const query of JSON.parse(queries)) {
  const hits = await manager.search(query, { sessions: 'all', limit: 5 })
  found.push(hits.map(({ toolName, args }) => [toolName, args]))
}
const received = manager.stats().storage.bytesReceived
await manager.close()
writeSync(1, `${JSON.stringify({ found, received })}\n`)
