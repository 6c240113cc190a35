/** The answers of the memory tool, in the same words as the SDK's local implementation. */

import { posix } from 'node:path'
import { contextError } from '../../arguments/errors.ts'
import type { StateFiles } from '../state-files.ts'

const MAXIMUM_LINES = 999_999
const NUMBER_WIDTH = String(MAXIMUM_LINES).length
/** The size that local file systems report for a directory. */
const DIRECTORY_SIZE = 4096
const LISTED_LEVELS = 2
const UNITS = ['B', 'K', 'M', 'G']
/** The number of lines shown before and after a change. */
const AROUND = 2

/** Lists a directory and its contents, with the path as the model gave it. */
export async function listing(files: StateFiles, directory: string, given: string): Promise<string> {
  const lines: string[] = [`${sizeOf(DIRECTORY_SIZE)}\t${given}`]
  const list = async (path: string, shown: string, level: number): Promise<void> => {
    const entries = (await files.children(path)).map((entry) => ({ ...entry, name: posix.basename(entry.path) }))
    entries.sort((one, other) => (one.name < other.name ? -1 : 1))
    for (const entry of entries.filter(({ name }) => !name.startsWith('.') && name !== 'node_modules')) {
      const { name, isDirectory, size } = entry
      lines.push(`${sizeOf(isDirectory ? DIRECTORY_SIZE : size)}\t${shown}/${name}${isDirectory ? '/' : ''}`)
      if (isDirectory && level < LISTED_LEVELS) {
        await list(entry.path, `${shown}/${name}`, level + 1)
      }
    }
  }
  await list(directory, given, 1)
  const header = `Here're the files and directories up to 2 levels deep in ${given}, excluding hidden items and node_modules:`
  return `${header}\n${lines.join('\n')}`
}

/** Shows a file, or a range of it, with line numbers. */
export function fileView(text: string, given: string, range: readonly number[] | undefined): string {
  const lines = text.split('\n')
  if (lines.length > MAXIMUM_LINES) {
    throw contextError(
      'ERR_CONTEXT_TOO_LARGE',
      `File ${given} has too many lines (${lines.length}). Maximum is ${MAXIMUM_LINES.toLocaleString()} lines.`,
    )
  }
  const [from, to] = range?.length === 2 ? (range as [number, number]) : [1, -1]
  const start = Math.max(1, from) - 1
  const shown = numbered(lines.slice(start, to === -1 ? lines.length : to), start + 1)
  return `Here's the content of ${given} with line numbers:\n${shown}`
}

/** Replaces a text that must occur exactly once; returns the new text and the index of its line. */
export function replaceOnce(
  text: string,
  oldText: string,
  newText: string,
  given: string,
): { text: string; line: number } {
  const found = text.split('\n').flatMap((line, index) => (line.includes(oldText) ? [index] : []))
  const [line] = found
  if (line === undefined) {
    throw contextError(
      'ERR_CONTEXT_NOT_FOUND',
      `No replacement was performed, old_str \`${oldText}\` did not appear verbatim in ${given}.`,
    )
  }
  if (found.length > 1) {
    const numbers = found.map((index) => index + 1).join(', ')
    throw contextError(
      'ERR_CONTEXT_CONFLICT',
      `No replacement was performed. Multiple occurrences of old_str \`${oldText}\` in lines: ${numbers}. Please ensure it is unique`,
    )
  }
  return { text: text.replace(oldText, () => newText), line }
}

/** The answer to a change, with the lines around it. */
export function edited(text: string, line: number): string {
  const start = Math.max(0, line - AROUND)
  const shown = numbered(text.split('\n').slice(start, line + AROUND + 1), start + 1)
  return `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${shown}`
}

/** Inserts a text after a number of lines. */
export function insertLine(text: string, line: number, inserted: string): string {
  const lines = text.split('\n')
  if (line < 0 || line > lines.length) {
    throw contextError(
      'ERR_CONTEXT_INVALID_ARGUMENT',
      `Invalid \`insert_line\` parameter: ${line}. It should be within the range of lines of the file: [0, ${lines.length}]`,
    )
  }
  lines.splice(line, 0, inserted.replace(/\n$/, ''))
  return lines.join('\n')
}

function numbered(lines: readonly string[], first: number): string {
  return lines.map((line, index) => `${String(index + first).padStart(NUMBER_WIDTH)}\t${line}`).join('\n')
}

function sizeOf(bytes: number): string {
  const power = bytes === 0 ? 0 : Math.floor(Math.log(bytes) / Math.log(1024))
  const size = bytes / 1024 ** power
  return `${size % 1 === 0 ? size : size.toFixed(1)}${UNITS[power]}`
}
