/** Four real tools over one folder. They do not use agent-context: they stand for the tools that an agent already has. */

import { execFile } from 'node:child_process'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ToolResponse } from '../../dist/index.js'

export interface Tool<Args extends Record<string, unknown>, Result> {
  name: string
  run(args: Args): Promise<ToolResponse<Result>>
}

export interface FileEntry {
  path: string
  bytes: number
}

export interface Match {
  path: string
  line: number
  /** The matching line and its neighbours. */
  text: string
}

/** Directories with files of others, which in most trees are a hundred times as large as the project's own. */
const SKIPPED_FOLDERS = new Set(['.git', 'node_modules', 'target'])

// Tools of real agents are bounded too: a model asks for the whole disk sooner or later.
const MAXIMUM_FILES = 20_000
const MAXIMUM_FILE_BYTES = 16 * 1024 * 1024
const MAXIMUM_SEARCHED_FILES = 3000
const MAXIMUM_SEARCHED_FILE_BYTES = 1024 * 1024
const MAXIMUM_MATCHES = 5000
const MAXIMUM_COMMAND_BYTES = 16 * 1024 * 1024
const MAXIMUM_COMMAND_MS = 5000
const FILES_AT_ONCE = 16

export type Tools = ReturnType<typeof createTools>

export function createTools(root: string) {
  const listTree: Tool<{ path: string }, { path: string; files: FileEntry[] }> = {
    name: 'list_tree',
    async run({ path }) {
      const files = await walk(root, path)
      return { success: true, result: { path, files }, message: `${files.length} files in ${path}` }
    },
  }

  const readText: Tool<{ path: string }, string> = {
    name: 'read_file',
    async run({ path }) {
      const { size } = await stat(join(root, path))
      if (size > MAXIMUM_FILE_BYTES) {
        return { success: false, error: `${path} is too large: ${size} bytes`, message: `read_file refused ${path}` }
      }
      const text = await readFile(join(root, path), 'utf8')
      if (isBinary(text)) {
        return { success: false, error: `${path} is no text file`, message: `read_file refused ${path}` }
      }
      return { success: true, result: text, message: `read ${path}` }
    },
  }

  const searchText: Tool<{ text: string; contextLines: number }, { matches: Match[]; searchedFiles: number }> = {
    name: 'search_text',
    async run({ text, contextLines }) {
      const files = await walk(root, '.')
      const candidates = files.filter(({ bytes }) => bytes <= MAXIMUM_SEARCHED_FILE_BYTES)
      const searched = candidates.slice(0, MAXIMUM_SEARCHED_FILES)
      const found = await inBatches(searched, ({ path }) => searchFile(root, path, text, contextLines))
      const matches = found.flat().slice(0, MAXIMUM_MATCHES)
      const result = { matches, searchedFiles: searched.length }
      return { success: true, result, message: `"${text}" occurs ${matches.length} times` }
    },
  }

  const runCommand: Tool<{ command: string }, { stdout: string; stderr: string }> = {
    name: 'run_command',
    async run({ command }) {
      // No shell: nothing in a file's name can become a command.
      const [program = '', ...parameters] = command.split(' ')
      const options = { cwd: root, maxBuffer: MAXIMUM_COMMAND_BYTES, timeout: MAXIMUM_COMMAND_MS }
      const { stdout, stderr } = await promisify(execFile)(program, parameters, options)
      return { success: true, result: { stdout, stderr }, message: `ran ${command}` }
    },
  }

  return { listTree, readText, searchText, runCommand }
}

/** The files below a folder, breadth first, with '/' between the names. */
async function walk(root: string, start: string): Promise<FileEntry[]> {
  const files: FileEntry[] = []
  const folders = [start]
  // The list grows while it is read.
  for (const folder of folders) {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((error: unknown) => {
      if (folder === start) {
        throw error
      }
      return []
    })
    const named = entries.map((entry) => ({ entry, path: folder === '.' ? entry.name : `${folder}/${entry.name}` }))
    folders.push(
      ...named.filter(({ entry }) => entry.isDirectory() && !SKIPPED_FOLDERS.has(entry.name)).map(({ path }) => path),
    )
    const sized = await inBatches(
      named.filter(({ entry }) => entry.isFile()),
      async ({ path }) => ({ path, bytes: await sizeOf(join(root, path)) }),
    )
    files.push(...sized)
    if (files.length >= MAXIMUM_FILES) {
      break
    }
  }
  return files.slice(0, MAXIMUM_FILES)
}

/** 0 for a file that went meanwhile. */
async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  )
}

async function searchFile(root: string, path: string, text: string, contextLines: number): Promise<Match[]> {
  const content = await readFile(join(root, path), 'utf8').catch(() => '')
  const wanted = text.toLowerCase()
  if (!content.toLowerCase().includes(wanted) || isBinary(content)) {
    return []
  }
  const lines = content.split('\n')
  return lines.flatMap((line, index) => {
    if (!line.toLowerCase().includes(wanted)) {
      return []
    }
    const around = lines.slice(Math.max(0, index - contextLines), index + contextLines + 1)
    return [{ path, line: index + 1, text: around.join('\n') }]
  })
}

function isBinary(text: string): boolean {
  return text.slice(0, 8000).includes('\0')
}

export async function inBatches<Item, Result>(
  items: readonly Item[],
  run: (item: Item) => Promise<Result>,
  size = FILES_AT_ONCE,
): Promise<Result[]> {
  const results: Result[] = []
  for (let start = 0; start < items.length; start += size) {
    results.push(...(await Promise.all(items.slice(start, start + size).map(run))))
  }
  return results
}
