// Reads the end of a history again and again until its standard input ends. Fails when a record is not whole, when a
// writer's records are not in order or disappear from the end, when a line is reported as bad, or when there are fewer
// records than asked for although there were enough before.
// Parameters: path, how many to read.
import { writeSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { ContextHistory } from '../../dist/index.js'
import { checkRecord } from './history-records.mjs'

const [path, limit] = process.argv.slice(2)
const problems = []
const history = new ContextHistory({ path, onDebug: (message, data) => problems.push([message, data]) })
problems.length = 0 // that it was initialized
/** The last number seen of each writer. */
const newest = new Map()
let isOver = false
let rounds = 0
let most = 0
process.stdin.on('end', () => {
  isOver = true
})
process.stdin.resume()
writeSync(1, 'ready\n')

for (let isLast = false; !isLast; rounds++) {
  isLast = isOver
  const entries = await history.read(Number(limit))
  const last = new Map()
  for (const entry of entries.filter(({ toolName }) => toolName !== 'summary')) {
    const { writer, number } = checkRecord(entry)
    // The end of the file is seen without gaps.
    if (last.has(writer) && number !== last.get(writer) + 1) {
      throw new Error(`record ${number} of ${writer} follows ${last.get(writer)}`)
    }
    last.set(writer, number)
  }
  for (const [writer, number] of last) {
    if (number < newest.get(writer)) {
      throw new Error(`record ${newest.get(writer)} of ${writer} was there, now ${number} is the last`)
    }
    newest.set(writer, number)
  }
  if (entries.length < most) {
    throw new Error(`${entries.length} entries instead of ${most}`)
  }
  if (problems.length > 0) {
    throw new Error(JSON.stringify(problems))
  }
  most = entries.length
  await turn()
}
writeSync(1, `${JSON.stringify({ rounds, seen: most })}\n`)
