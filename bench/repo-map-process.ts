/**
 * The process behind `repo-map.ts`: `repo-map-process.ts WORKSPACE ROOT ROUNDS CHANGED`; prints a `RepoMapRun` as JSON.
 * The map is made once as the first call of the process, then again and again, then after each change of the file
 * CHANGED.
 */

import { appendFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { RepoMemory } from '../dist/index.js'
import { median } from './statistics.ts'

export interface RepoMapRun {
  /** ms of opening and of the first map. */
  readonly first: number
  /** ms of a map when nothing changed, the median. */
  readonly again: number
  /** ms of a map after a change of one file, the median. */
  readonly changed: number
}

const BUDGET = 8000

async function run(workspace: string, root: string, rounds: number, changed: string): Promise<RepoMapRun> {
  const start = performance.now()
  const memory = await RepoMemory.open({ workspace, root })
  const map = await memory.repoMap({ maxChars: BUDGET })
  const first = performance.now() - start
  if (map.files.length === 0 || map.text.length > BUDGET) {
    throw new Error(`the map has ${map.text.length} characters and ${map.files.length} files`)
  }
  const timed = async (): Promise<number> => {
    const begin = performance.now()
    await memory.repoMap({ maxChars: BUDGET })
    return performance.now() - begin
  }
  const [again, afterChange]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    again.push(await timed())
  }
  for (let round = 0; round < rounds; round++) {
    appendFileSync(changed, '\n')
    afterChange.push(await timed())
  }
  await memory.close()
  return { first, again: median(again), changed: median(afterChange) }
}

try {
  const [workspace = '', root = '', rounds = '1', changed = ''] = process.argv.slice(2)
  process.stdout.write(`${JSON.stringify(await run(workspace, root, Number(rounds), changed))}\n`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
