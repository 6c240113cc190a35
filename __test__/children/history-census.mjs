// Counts the records in a log without the package. Fails at a line that is no whole record, and at a record that is
// missing, there twice, or not in its writer's order. Prints how many records of each writer there are up to the end, and
// how many there were when the first writer had written all of its own.
// Parameters: path, as JSON how many records of each writer have been removed from the log's head.
import { readFileSync, writeSync } from 'node:fs'
import { checkRecord } from './history-records.mjs'

const NEWLINE = 0x0a
const [path, removed = '{}'] = process.argv.slice(2)
const log = readFileSync(path)
const counts = JSON.parse(removed)
/** A copy of `counts` from each record on that was some writer's latest. */
const latest = new Map()
let summaries = 0

for (let begin = 0; begin < log.length; ) {
  const end = log.indexOf(NEWLINE, begin)
  if (end < 0) {
    throw new Error(`the last ${log.length - begin} bytes are no line`)
  }
  const record = JSON.parse(log.toString('utf8', begin, end))
  begin = end + 1
  if (record.tool_name === 'summary') {
    summaries++
    continue
  }
  const { writer, number } = checkRecord(record)
  if (number !== (counts[writer] ?? 0)) {
    throw new Error(`record ${number} of ${writer} stands behind ${counts[writer] ?? 0} of them`)
  }
  counts[writer] = number + 1
  latest.set(writer, { ...counts })
}
const sum = (progress) => Object.values(progress).reduce((total, count) => total + count, 0)
const [progress = {}] = [...latest.values()].sort((a, b) => sum(a) - sum(b))
writeSync(1, `${JSON.stringify({ counts, progress, summaries })}\n`)
