/**
 * Where the benchmarks write. ext4 makes new files ten to fifty times slower for minutes after many were unlinked, so
 * every round gets a fresh directory and nothing is unlinked before the end: room is made by cutting files to nothing.
 */

import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, statfsSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { median } from './statistics.ts'

const EXT4 = 0xef53
const PROBED_FILES = 200
const TESTED_FILES = 3
const MAX_TRIES = 16
/** An empty file takes 5 to 20 µs where nothing is wrong, 50 to 400 where much was unlinked lately. */
const SLOW_CREATION = 50

export class Workspace {
  readonly root: string
  #directories = 0

  constructor(parent: string) {
    this.root = mkdtempSync(join(parent, 'agent-context-bench-'))
    if (process.platform === 'linux') {
      // Spreads the directories over the volume, away from what earlier runs unlinked. Refused elsewhere than on ext4.
      spawnSync('chattr', ['+T', this.root], { stdio: 'ignore' })
    }
  }

  /** An unused directory in which creating files is not slow. It contains the empty files of the check. */
  fresh(): string {
    for (let tries = 1; ; tries++) {
      const directory = join(this.root, String(this.#directories++))
      mkdirSync(directory)
      if (creationCost(directory, TESTED_FILES) < SLOW_CREATION || tries === MAX_TRIES) {
        return directory
      }
    }
  }

  /** Truncates the files of a directory to free their space, without removing them. No process may have them open. */
  empty(directory: string): void {
    for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) {
        truncateSync(join(entry.parentPath, entry.name), 0)
      }
    }
  }

  /** What is known about the volume; a warning where new files are slow. */
  describe(): string[] {
    const { type } = statfsSync(this.root)
    const volume = type === EXT4 ? 'ext4' : `file system 0x${type.toString(16)}`
    const cost = creationCost(this.fresh(), PROBED_FILES)
    const lines = [`${this.root} (${volume}, an empty file takes ${cost.toFixed(0)} µs)`]
    if (cost > SLOW_CREATION) {
      lines.push('WARNING: new files are slow here now, as after mass deletion on ext4: wait five minutes, run again.')
    }
    return lines
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}

/** What an empty file takes, in µs. */
function creationCost(directory: string, files: number): number {
  const costs: number[] = []
  for (let index = 0; index < files; index++) {
    const start = performance.now()
    closeSync(openSync(join(directory, `empty-${files}-${index}`), 'wx'))
    costs.push((performance.now() - start) * 1000)
  }
  return median(costs)
}
