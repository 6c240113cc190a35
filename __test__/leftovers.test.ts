/** Temporary files of processes that ended: they go, and nothing else does. */

import assert from 'node:assert/strict'
import { existsSync, mkdirSync, symlinkSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { inDirectory } from './support/fixtures.ts'
import { HASH, memoryIn, plant } from './support/memories.ts'
import { holds } from './support/processes.ts'
import { entry, storeIn } from './support/stores.ts'

const HEX = '0123456789abcdef'
const MINUTE = 60

/** Plants a file that was last changed so many seconds ago. */
function left(directory: string, place: string, seconds: number): string {
  const path = plant(join(directory, place), 'half')
  const time = Date.now() / 1000 - seconds
  utimesSync(path, time, time)
  return path
}

const OLD = 61 * MINUTE
const YOUNG = 59 * MINUTE

/** What looks like a temporary file of a store or a memory, old, and is none. */
function plantForeign(directory: string): string[] {
  const names = [
    '.notes.tmp',
    `.notes.txt.${HEX}.tmp`,
    `notes.md.${HEX}.tmp`,
    `.notes.md.${HEX}`,
    `.notes.md.${HEX}.tmp.bak`,
    `.notes.md.${HEX.toUpperCase()}.tmp`,
    `.notes.md.${HEX}0.tmp`,
    `.md.${HEX}.tmp`,
    `.package.json.${HEX}.tmp`,
    `.summaries.json.${HEX}.tmp`,
    `memory.json.${HEX}.tmp`,
  ]
  const files = names.map((name) => left(directory, name, OLD))
  const folder = join(directory, `.folder.md.${HEX}.tmp`)
  mkdirSync(folder)
  utimesSync(folder, 0, 0)
  if (process.platform === 'win32') {
    return [...files, folder]
  }
  const link = join(directory, `.link.md.${HEX}.tmp`)
  symlinkSync(files[0] ?? '', link)
  return [...files, folder, link]
}

const there = (paths: readonly string[]): string[] => paths.filter((path) => existsSync(path))

describe('temporary files that ended processes left', () => {
  const ENTRY = `.20200101T000000-x.md.${HEX}.tmp`
  const ROOT = [`..context-store.journal.${HEX}.tmp`, `..context-store.index.${HEX}.tmp`]

  it('are removed from all directories of a store by housekeeping, where nothing expires', () =>
    inDirectory(async (path) => {
      const places = [...ROOT, `a/${ENTRY}`, `a/.notes.md.${HEX}.tmp`, `a/s1/${ENTRY}`, `empty/${ENTRY}`]
      const old = places.map((place) => left(path, place, OLD))
      const young = places.map((place) => left(path, place.replace(HEX, 'f'.repeat(16)), YOUNG))
      const foreign = ['.', 'a', 'a/s1', 'empty'].flatMap((place) => plantForeign(join(path, place)))
      // No entry can be there.
      const elsewhere = [left(path, `a/s1/deep/${ENTRY}`, OLD), left(path, `.hidden/${ENTRY}`, OLD)]
      const store = storeIn(path)
      await store.housekeep({ dryRun: true })
      assert.deepEqual(there(old), old)
      const { removed } = await store.housekeep()
      assert.deepEqual([removed, there(old)], [[], []])
      const stays = [...young, ...foreign, ...elsewhere]
      assert.deepEqual(there(stays), stays)
    }))

  it('are removed beside an entry that is changed, and beside the lock of a store', () =>
    inDirectory(async (path) => {
      const { path: changed } = await storeIn(path).write(entry())
      const agent = dirname(changed)
      const old = [...ROOT, `${agent}/${ENTRY}`].map((place) => left(path, place, OLD))
      const stays = [...plantForeign(path), ...plantForeign(join(path, agent)), left(path, `b/${ENTRY}`, OLD)]
      await storeIn(path).update(changed, {}, 'changed')
      assert.deepEqual(there(old), [])
      assert.deepEqual(there(stays), stays)
    }))

  it('are removed beside memory.json when it is changed', () =>
    inDirectory(async (root) => {
      const directory = join(root, 'repos', HASH)
      const name = `.memory.json.${HEX}.tmp`
      const old = left(directory, name, OLD)
      const stays = [left(directory, name.replace(HEX, 'f'.repeat(16)), YOUNG), ...plantForeign(directory)]
      const memory = await memoryIn(root)
      await memory.getRepoMemory()
      holds(existsSync(old), 'reading removes nothing')
      await memory.upsertNote({ content: 'new' })
      holds(!existsSync(old))
      assert.deepEqual(there(stays), stays)
    }))
})
