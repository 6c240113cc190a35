// A session in another process: saves, prints the paths, then `ready`, and waits for commands.
// Parameters: directory, session ('' for an unnamed one), count, milliseconds between saves, end ('stay' or 'exit').
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { ContextManager } from '../../dist/index.js'
import { inDatabase } from './storage.mjs'

const [contextDir, sessionId, count, gap, end] = process.argv.slice(2)
const manager = new ContextManager({ contextDir, ...inDatabase, ...(sessionId === '' ? {} : { sessionId }) })
for (let number = 0; number < Number(count); number++) {
  const path = await manager.saveContext('child_tool', { number }, { number, text: 'x'.repeat(100) })
  writeSync(1, `${path}\n`)
  if (Number(gap) > 0) {
    await pause(Number(gap))
  }
}
writeSync(1, `ready ${manager.sessionId}\n`)
if (end === 'stay') {
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === 'size') {
      writeSync(1, `${manager.size}\n`)
    } else if (line === 'save') {
      writeSync(1, `${await manager.saveContext('child_tool', {}, 'later')}\n`)
    } else if (line === 'clear') {
      await manager.clear()
      writeSync(1, 'cleared\n')
    } else if (line === 'end') {
      break
    }
  }
}
process.stdin.destroy()
