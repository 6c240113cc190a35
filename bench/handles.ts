/**
 * What a handle costs to redeem in a process that did not store its output: in a process that has just started (cold) and in one
 * that redeemed others before (warm). `npm run bench:handles [-- --files 100000 --rounds 5]`
 */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ContextManager } from '../dist/index.js'
import { runCommand } from './command.ts'
import { loadLine } from './machine.ts'

/** Saves in flight at once. */
const BATCH = 1000

interface Redeemed {
  readonly coldMs: number
  readonly warmMs: number
}

const USAGE = 'npm run bench:handles [-- --files 100000 --rounds 5]'

async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { files: { type: 'string', default: '100000' }, rounds: { type: 'string', default: '5' } },
  })
  const [files, rounds] = [Number(values.files), Number(values.rounds)]
  const contextDir = mkdtempSync(join(tmpdir(), 'agent-context-handles-'))
  try {
    const manager = new ContextManager({ contextDir, sessionId: 'bench' })
    const handles: string[] = []
    for (let start = 0; start < files; start += BATCH) {
      const count = Math.min(BATCH, files - start)
      const saves = Array.from({ length: count }, (_, index) =>
        manager.saveContext('read_file', { path: `src/${start + index}.ts` }, `the text of file ${start + index}`),
      )
      await Promise.all(saves)
    }
    for (const { handle = '' } of manager.getAllPointers().filter((_, index) => index % Math.ceil(files / 50) === 0)) {
      handles.push(handle)
    }
    await manager.close()
    const script = fileURLToPath(new URL('handles-process.mjs', import.meta.url))
    const found: Redeemed[] = []
    for (let round = 0; round < rounds; round++) {
      const told = execFileSync(process.execPath, [script, contextDir, ...handles], { encoding: 'utf8' })
      found.push(JSON.parse(told) as Redeemed)
    }
    console.log(loadLine())
    console.log(`${files} files, medians of ${rounds} processes: cold ${median(found.map(({ coldMs }) => coldMs))} ms,`)
    console.log(`warm ${median(found.map(({ warmMs }) => warmMs))} ms (median of ${handles.length - 1} handles)`)
  } finally {
    rmSync(contextDir, { recursive: true, force: true })
  }
}

function median(values: readonly number[]): string {
  const sorted = [...values].sort((one, other) => one - other)
  return (sorted[Math.floor(sorted.length / 2)] ?? Number.NaN).toFixed(2)
}

await runCommand('bench:handles', USAGE, main)
