/** `npm run bench:redaction-corpus`: which files two builds of the addon redact differently. See `--help`. */

import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { redact } from '../dist/index.js'
import { runCommand } from './command.ts'
import { loadBaseline } from './redaction-baseline.ts'
import type { Redact } from './redaction-cases.ts'
import { RULES_ALONE } from './redaction-contenders.ts'

const USAGE = `npm run bench:redaction-corpus -- --baseline FILE.node FOLDER... [options]
  --baseline FILE  the addon of the commit before
  --megabytes N    stop after so much text (default 200)
  --context N      characters that are shown around a difference (default 60)
Every difference is listed: the file, and the text before and after.`
const MEGABYTE = 2 ** 20
/** Larger files are data sets, and their first part is enough. */
const MAX_FILE = 4 * MEGABYTE
const SHOWN = 5

interface Totals {
  files: number
  bytes: number
  altered: number
  different: number
}

async function main(parameters: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: parameters,
    allowPositionals: true,
    options: {
      baseline: { type: 'string' },
      megabytes: { type: 'string', default: '200' },
      context: { type: 'string', default: '60' },
    },
  })
  if (values.baseline === undefined || positionals.length === 0) {
    throw new Error(`--baseline and at least one folder are needed\n${USAGE}`)
  }
  const before = loadBaseline(values.baseline)
  const totals: Totals = { files: 0, bytes: 0, altered: 0, different: 0 }
  const limit = Number(values.megabytes) * MEGABYTE
  for (const path of positionals.flatMap((folder) => [...filesBelow(folder)])) {
    if (totals.bytes >= limit) {
      break
    }
    const text = readText(path)
    if (text !== undefined) {
      await compare(path, text, before, Number(values.context), totals)
    }
  }
  const megabytes = (totals.bytes / MEGABYTE).toFixed(1)
  process.stdout.write(
    `${totals.files} files, ${megabytes} MB: ${totals.altered} altered, ${totals.different} altered differently than before\n`,
  )
}

async function compare(path: string, text: string, before: Redact, context: number, totals: Totals): Promise<void> {
  const [old, now] = [await before(text), redact(text, RULES_ALONE).text]
  totals.files++
  totals.bytes += Buffer.byteLength(text)
  totals.altered += now === text ? 0 : 1
  if (old !== now) {
    totals.different++
    process.stdout.write(`${path}\n${differences(old, now, context).join('')}`)
  }
}

/** The first lines that only one of the two texts has. */
function differences(old: string, now: string, context: number): string[] {
  const [oldLines, newLines] = [old.split('\n'), now.split('\n')]
  const [known, kept] = [new Set(oldLines), new Set(newLines)]
  const gone = oldLines.filter((line) => !kept.has(line)).slice(0, SHOWN)
  const added = newLines.filter((line) => !known.has(line)).slice(0, SHOWN)
  const show = (line: string): string => JSON.stringify(aroundLabel(line, context))
  return [...gone.map((line) => `  - ${show(line)}\n`), ...added.map((line) => `  + ${show(line)}\n`)]
}

function aroundLabel(line: string, context: number): string {
  const label = Math.max(0, line.indexOf('[REDACTED:'))
  return line.slice(Math.max(0, label - context), label + 2 * context)
}

/** Files in the same order in every run. Links are not followed. */
function* filesBelow(path: string): Generator<string> {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats?.isFile() === true) {
    yield path
  } else if (stats?.isDirectory() === true) {
    for (const name of readdirSync(path).sort()) {
      yield* filesBelow(join(path, name))
    }
  }
}

/** `undefined` for what is not text. */
function readText(path: string): string | undefined {
  try {
    const bytes = readFileSync(path).subarray(0, MAX_FILE)
    return bytes.length === 0 || bytes.includes(0) ? undefined : bytes.toString('utf8')
  } catch {
    // Files that this user may not read, and those that are gone.
    return undefined
  }
}

await runCommand('bench:redaction-corpus', USAGE, main)
