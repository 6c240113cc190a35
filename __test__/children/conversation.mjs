/**
 * One process of a session: `conversation.mjs <directory> <session> <ending> <text>…` offloads each text, prints the handle of each, and ends as
 * told: `close`, `exit` or `kill`.
 */

import { ContextManager } from '../../dist/index.js'
import { inDatabase } from './storage.mjs'

const [contextDir, sessionId, ending, ...texts] = process.argv.slice(2)
const manager = new ContextManager({ contextDir, sessionId, ...inDatabase, offload: { threshold: 0 } })
for (const text of texts) {
  const { handle, error } = await manager.offload('read_file', { path: text }, `${text} `.repeat(50))
  if (error !== undefined) {
    throw error
  }
  console.log(handle)
}
if (ending === 'close') {
  await manager.close()
} else if (ending === 'kill') {
  process.kill(process.pid, 'SIGKILL')
  await new Promise(() => {})
} else {
  process.exit(0)
}
