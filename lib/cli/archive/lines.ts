/** The lines of an export. */

export const ARCHIVE_VERSION = 1

export type ArchiveLine =
  | { readonly kind: 'header'; readonly format: 'agent-context'; readonly version: number }
  /** A stored output: the file's name and text, and what is in the file of its bytes, in Base64. */
  | { readonly kind: 'context'; readonly name: string; readonly text: string; readonly bytes?: string }
  /** A line of the history. */
  | { readonly kind: 'entry'; readonly text: string }
  /** An entry of the store: its path, relative to the store, and its text. */
  | { readonly kind: 'storeEntry'; readonly path: string; readonly text: string }
  /** A file of the repository's memory. */
  | { readonly kind: 'memory'; readonly name: 'memory.json' | 'summaries.jsonl'; readonly text: string }
  | ArchivedState

/** An item of the state store. Revisions and the times of changes are each store's own. */
export interface ArchivedState {
  readonly kind: 'state'
  readonly namespace: readonly string[]
  readonly key: string
  /** The value as JSON, or its bytes in Base64. */
  readonly text: string
  readonly isBinary?: boolean
  readonly mediaType?: string
  /** ISO 8601. */
  readonly expiresAt?: string
}

/** The file of a context's bytes, beside that of its record. */
export const bytesFileOf = (path: string): string => path.replace(/\.json$/, '.bin')

export const MEMORY_FILES = ['memory.json', 'summaries.jsonl'] as const
