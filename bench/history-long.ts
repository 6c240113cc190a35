/** A long history: what a search for a rare tool takes, with an index and without, and in how much memory. */

import { spawnSync } from 'node:child_process'
import { closeSync, openSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import type { LongHistory } from './history-long-process.ts'
import { errorLine, firstLine } from './peer-packages.ts'
import { figure, type Report } from './report.ts'
import type { Workspace } from './workspace.ts'

export const RARE_TOOL = 'deploy'
const ENTRIES = 5_000_000
const QUICK_ENTRIES = 200_000
/** Entries of the rare tool, evenly distributed. */
const RARE = 20
const TOOLS = 12
const LINES_AT_ONCE = 10_000
const MEGABYTE = 1e6

/** In processes of their own: one finds no index, the next one the index of the first. */
export function benchLongHistory(report: Report, workspace: Workspace, isQuick: boolean): void {
  const entries = isQuick ? QUICK_ENTRIES : ENTRIES
  const directory = workspace.fresh()
  const path = join(directory, 'long.jsonl')
  writeLog(path, entries)
  const rows: string[][] = []
  for (const name of ['without an index', 'with the index of another process']) {
    const measured = measure(path)
    if (typeof measured === 'string') {
      report.lines([`a history of ${entries} entries, ${name}: skipped: ${measured}`])
      continue
    }
    report.measure({ section: 'history', case: `long, ${name}`, contender: 'agent-context', values: { ...measured } })
    const { first, later, appended, delay, rss } = measured
    rows.push([name, figure(first), figure(later), figure(appended), figure(delay), figure(rss)])
  }
  const megabytes = (file: string): number => Math.round(statSync(file).size / MEGABYTE)
  const sizes = `${megabytes(path)} MB, index ${megabytes(`${path}.index`)} MB`
  report.table({
    title: `all ${RARE} entries of a rare tool among ${entries.toLocaleString('en')} (${sizes}); ms, RSS in MB`,
    columns: ['', 'first search', 'later ones', 'after 1000 appends', 'longest delay', 'peak RSS'],
    rows,
  })
  workspace.empty(directory)
}

function writeLog(path: string, entries: number): void {
  const file = openSync(path, 'wx', 0o600)
  for (let first = 0; first < entries; first += LINES_AT_ONCE) {
    const count = Math.min(LINES_AT_ONCE, entries - first)
    writeSync(file, Array.from({ length: count }, (_, offset) => line(first + offset, entries)).join(''))
  }
  closeSync(file)
}

function line(number: number, entries: number): string {
  const isRare = number % Math.floor(entries / RARE) === 0
  const entry = {
    tool_name: isRare ? RARE_TOOL : `tool_${number % TOOLS}`,
    params: { path: `src/${number}.ts` },
    result: `${number} matches`,
    success: number % 10 !== 0,
    summary: null,
    timestamp: new Date(1_700_000_000_000 + number * 1000).toISOString(),
    id: `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`,
  }
  return `${JSON.stringify(entry)}\n`
}

/** The figures, or why there are none. */
function measure(path: string): LongHistory | string {
  const script = join(import.meta.dirname, 'history-long-process.ts')
  const parameters = ['--import', 'tsx', script, path, RARE_TOOL, String(RARE)]
  const child = spawnSync(process.execPath, parameters, { encoding: 'utf8' })
  if (child.status === 0) {
    return JSON.parse(child.stdout) as LongHistory
  }
  return child.error === undefined ? errorLine(child.stderr.trim()) : firstLine(child.error)
}
