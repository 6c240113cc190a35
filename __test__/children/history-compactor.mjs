// Compacts a history every 50 ms until its standard input ends, and checks that what goes are each writer's oldest
// records, whole, each once. Prints a line after each compaction, and in the end how many records of each writer went.
// Parameters: path, how many entries to keep.
import { writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { ContextHistory } from '../../dist/index.js'
import { checkRecord } from './history-records.mjs'

const INTERVAL = 50
const [path, keepLast] = process.argv.slice(2)
const history = new ContextHistory({ path })
/** How many records of each writer went. */
const dropped = {}
let isOver = false
process.stdin.on('end', () => {
  isOver = true
})
process.stdin.resume()
writeSync(1, 'ready\n')

while (!isOver) {
  // Asked again when a plan could not be carried out: what counts is what the last one was told.
  let told = []
  const summarise = (entries) => {
    told = entries
    return `${entries.length} entries`
  }
  const { droppedEntries, droppedBadLines, keptEntries } = await history.compact({
    keepLast: Number(keepLast),
    summarise,
  })
  if (droppedBadLines > 0 || droppedEntries !== told.length || keptEntries > Number(keepLast)) {
    throw new Error(JSON.stringify({ droppedEntries, droppedBadLines, keptEntries, told: told.length }))
  }
  for (const entry of told.filter(({ toolName }) => toolName !== 'summary')) {
    const { writer, number } = checkRecord(entry)
    if (number !== (dropped[writer] ?? 0)) {
      throw new Error(`record ${number} of ${writer} went after ${dropped[writer] ?? 0} of them`)
    }
    dropped[writer] = number + 1
  }
  writeSync(1, `${JSON.stringify({ droppedEntries, keptEntries })}\n`)
  await pause(INTERVAL)
}
writeSync(1, `${JSON.stringify(dropped)}\n`)
