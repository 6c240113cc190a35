/**
 * An agent remembers its tool calls from one run to the next, without a model and without a network: two runs use the same
 * history. The second run finds the calls of the first one and does not repeat them.
 *
 *   npm run example:history -- [folder]
 */

import { EventEmitter } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
// In your project: import { autoRecord, ContextHistory, readContextTool } from 'agent-context'
import { autoRecord, ContextHistory, readContextTool } from '../dist/index.js'

const SOURCES = fileURLToPath(new URL('../lib', import.meta.url))

async function main(given = SOURCES): Promise<void> {
  const folder = resolve(given)
  // The default, .wink/context.jsonl below the working directory, belongs to your project.
  const directory = await mkdtemp(join(tmpdir(), 'agent-context-history-'))
  const path = join(directory, 'context.jsonl')
  try {
    await firstRun(folder, path)
    await secondRun(path)
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** Tools that publish their calls on an event bus, from which the history records them. */
async function firstRun(folder: string, path: string): Promise<void> {
  console.log(`First run: tools over ${folder}`)
  await using history = new ContextHistory({ path })
  const record = autoRecord(history)
  const bus = new EventEmitter()
  bus.on('tool-invoked', record)
  const files = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile())
  bus.emit('tool-invoked', { toolName: 'list_files', params: { folder }, result: files.map((file) => file.name) })
  for (const { name } of files) {
    const text = await readFile(join(folder, name), 'utf8')
    const result = { lines: text.split('\n').length, functions: text.match(/\bfunction \w+/g)?.length ?? 0 }
    bus.emit('tool-invoked', { toolName: 'count', params: { name }, result })
  }
  bus.emit('tool-invoked', { toolName: 'run_tests', params: {}, result: 'no test runner here', success: false })
  await record.flush()
  await history.recordDecision(`Begin with the smallest of ${files.length} files`, { because: 'it is read first' })
}

/** Another process, perhaps on another day. */
async function secondRun(path: string): Promise<void> {
  console.log('\nSecond run: what does the history tell?')
  await using history = new ContextHistory({ path })
  const failed = await history.search({ success: false })
  console.log(`  failed before   ${failed.map((entry) => `${entry.toolName}: ${entry.result}`).join(', ')}`)
  const [decision] = await history.search({ toolName: 'decision', limit: 1 })
  console.log(`  decided         ${decision?.summary}`)

  // What a model would call:
  const tool = readContextTool(history)
  const { message, value } = await tool.execute({ limit: 3 })
  console.log(`  ${tool.name}    ${message} ${value?.map((entry) => entry.toolName).join(', ')}`)

  const report = await history.compact({
    keepLast: 2,
    summarise: (entries) =>
      `${entries.length} earlier calls, ${new Set(entries.map((entry) => entry.toolName)).size} tools`,
  })
  console.log(`  compacted       ${report.bytesBefore} to ${report.bytesAfter} bytes: ${report.summaryEntry?.summary}`)
  const { entries, badLines } = await history.verify()
  console.log(`  verified        ${entries} entries, ${badLines} bad lines`)
}

await main(process.argv[2])
