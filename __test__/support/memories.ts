/** What the tests of repository memories share. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { RepoMemory, type RepoMemoryOptions } from '../../dist/index.js'
import { inTestPlace } from './postgres.ts'
import * as stored from './stored-files.ts'

/** A repository of which nothing is known but this. */
export const HASH = '0123456789abcdef'.repeat(4)

/** A memory that is quick: what survives the loss of power is tested elsewhere. */
export function memoryIn(root: string, options: RepoMemoryOptions = {}): Promise<RepoMemory> {
  return RepoMemory.open({ repoHash: HASH, root, durability: 'process', ...inTestPlace(options), ...options })
}

/** As `memoryIn`, of a folder. */
export function memoryOf(workspace: string, root: string, options: RepoMemoryOptions = {}): Promise<RepoMemory> {
  return RepoMemory.open({ workspace, root, durability: 'process', ...inTestPlace(options), ...options })
}

export const memoryFile = ({ directory }: { directory: string }): string => join(directory, 'memory.json')
export const summariesFile = ({ directory }: { directory: string }): string => join(directory, 'summaries.jsonl')

/** The text of a file of a memory. */
export const textOf = (path: string): string => stored.readFileSync(path, 'utf8')

/** The lines of the summaries' file, without the empty one at its end. */
export const linesOf = (memory: { directory: string }): string[] =>
  textOf(summariesFile(memory)).split('\n').slice(0, -1)

/** Writes a file, and the folders above it. */
export function plant(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

/** Writes a file where memories keep theirs. */
export function plantStored(path: string, text: string): string {
  stored.mkdirSync(dirname(path), { recursive: true })
  stored.writeFileSync(path, text)
  return path
}

/** The path of `memory.json` of a memory in `root` that was never written to, with this text in it. */
export function plantMemory(root: string, text: string): string {
  return plantStored(join(root, 'repos', HASH, 'memory.json'), text)
}

/** As `plantMemory`, of `summaries.jsonl`. */
export function plantSummaries(root: string, text: string): string {
  return plantStored(join(root, 'repos', HASH, 'summaries.jsonl'), text)
}

/** A git repository as far as it says where it comes from and what is checked out. */
export function plantRepository(
  folder: string,
  { remote, branch = 'main' }: { remote?: string; branch?: string } = {},
): string {
  const section = remote === undefined ? '' : `[remote "origin"]\n\turl = ${remote}\n`
  plant(join(folder, '.git', 'config'), `[core]\n\trepositoryformatversion = 0\n\tbare = false\n${section}`)
  plant(join(folder, '.git', 'HEAD'), `ref: refs/heads/${branch}\n`)
  mkdirSync(join(folder, '.git', 'objects'), { recursive: true })
  mkdirSync(join(folder, '.git', 'refs', 'heads'), { recursive: true })
  return folder
}
