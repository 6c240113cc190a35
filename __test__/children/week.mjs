// A process that runs for a week, by its clock: `week.mjs DIRECTORY`. Each day another session leaves a context and ends. Prints, as JSON, after how many
// hours each sweep removed something, and what was left.
import { readdirSync } from 'node:fs'
import { ContextManager } from '../../dist/index.js'

const HOUR = 60 * 60 * 1000
const [contextDir] = process.argv.slice(2)
const began = Date.now()
const hours = () => (Date.now() - began) / HOUR
const sweeps = []
const manager = new ContextManager({
  contextDir,
  retention: { maxAge: '60h', maxLiveFiles: 50 },
  onDebug: (message, details) => {
    if (message.startsWith('Swept')) {
      sweeps.push({ hours: hours(), files: details.deletedCount })
    }
  },
})
let most = 0
for (let day = 0; day < 7; day++) {
  const other = new ContextManager({ contextDir, sessionId: `day ${day}` })
  await other.saveContext('read_file', { day }, `what was found on day ${day}`)
  await other.close()
  await other.endSession(`day ${day}`)
  for (let step = 0; hours() < 24 * (day + 1); step++) {
    await manager.saveContext('read_file', { day, step }, `the text of step ${step}`)
    const names = readdirSync(contextDir)
    most = Math.max(most, names.length)
    await new Promise((resolve) => setTimeout(resolve, HOUR / 6))
  }
}
await manager.sweep()
const days = (await manager.listContexts()).filter(
  ({ toolName, args }) => toolName === 'read_file' && !('step' in args),
)
console.log(JSON.stringify({ sweeps, most, size: manager.size, days: days.map(({ args }) => args.day) }))
await manager.close()
