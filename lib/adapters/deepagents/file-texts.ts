/** Texts of files: the lines of a read, and replacements. */

import { Buffer } from 'node:buffer'
import type { FileContent } from '../state-file-entries.ts'
import type { ReadResult } from './results.ts'

const EMPTY = 'System reminder: File exists but has empty contents'

/** Decodes content as text; invalid bytes become replacement characters. */
export function textOf(content: FileContent): string {
  return typeof content === 'string' ? content : new TextDecoder('utf-8', { ignoreBOM: true }).decode(content)
}

export function bytesOf(content: FileContent): Uint8Array {
  return typeof content === 'string' ? new TextEncoder().encode(content) : content
}

/** Converts bytes to the stored form: a text if they are UTF-8, so that searches find it by its words. */
export function contentOf(bytes: Uint8Array): FileContent {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return new Uint8Array(Buffer.from(bytes))
  }
}

/** Returns lines of a text from an offset, with their position. */
export function linesOf(text: string, givenOffset: number, givenLimit: number): ReadResult {
  if (text.trim() === '') {
    return { content: EMPTY }
  }
  const [offset, limit] = [whole(givenOffset), whole(givenLimit)]
  const lines = text.split('\n')
  const totalLines = lines.at(-1) === '' ? lines.length - 1 : lines.length
  if (offset >= totalLines) {
    return { error: `Line offset ${offset} exceeds file length (${totalLines} lines)` }
  }
  const content = lines.slice(offset, offset + limit).join('\n')
  if (limit === 0) {
    return { content }
  }
  const endLine = Math.min(offset + limit, totalLines)
  const next = endLine < totalLines ? { nextOffset: endLine } : {}
  return { content, totalLines, startLine: offset + 1, endLine, ...next }
}

/** Replaces a part of a text; returns an error text if that is not possible. */
export function replaced(
  text: string,
  oldText: string,
  newText: string,
  isAll: boolean,
): { text: string; occurrences: number } | string {
  if (oldText === '') {
    return text === '' ? { text: newText, occurrences: 0 } : 'Error: oldString cannot be empty when file has content'
  }
  const parts = text.split(oldText)
  const occurrences = parts.length - 1
  if (occurrences === 0) {
    return `Error: String not found in file: '${oldText}'`
  }
  if (occurrences > 1 && !isAll) {
    return `Error: String '${oldText}' has multiple occurrences (appears ${occurrences} times) in file. Use replace_all=True to replace all instances, or provide a more specific string with surrounding context.`
  }
  return { text: parts.join(newText), occurrences }
}

function whole(value: number): number {
  return Number.isFinite(value) ? Math.max(0, Math.floor(value)) : 0
}
