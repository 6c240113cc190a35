/** A process of the program `agent-context`, or of bare Node, and what it used. */

import { spawn } from 'node:child_process'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'

export const PROGRAM = fileURLToPath(new URL('../dist/cli/agent-context.js', import.meta.url))
const USAGE = pathToFileURL(fileURLToPath(new URL('command-line-usage.mjs', import.meta.url))).href

export interface Used {
  readonly cpuMs: number
  readonly maxRssMb: number
}

/** Runs Node with these words to its end, with what is written to its standard input. */
export function measure(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  feed: (stdin: NodeJS.WritableStream) => void | Promise<void> = (stdin) => void stdin.end(),
): Promise<Used> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', USAGE, ...words], {
      stdio: ['pipe', 'ignore', 'inherit', 'pipe'],
      env: { ...process.env, ...environment },
    })
    let report = ''
    child.stdio[3]?.on('data', (text) => {
      report += String(text)
    })
    child.on('error', reject)
    child.stdin?.on('error', () => undefined) // it may have ended
    child.on('close', (code) => {
      if (code === 0) {
        resolve(JSON.parse(report) as Used)
      } else {
        reject(new Error(`${words.join(' ')} ended with ${code}`))
      }
    })
    if (child.stdin !== null) {
      void feed(child.stdin)
    }
  })
}

export interface Spread {
  readonly least: number
  readonly median: number
}

export function spreadOf(samples: readonly number[]): Spread {
  const sorted = [...samples].sort((one, other) => one - other)
  return { least: sorted[0] ?? Number.NaN, median: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN }
}
