/** What a backend answers: the results of `BackendProtocolV2`. A failure is an `error` with the text that the model reads. */

export interface FileInfo {
  /** With a `/` at the end for a directory. */
  path: string
  is_dir: boolean
  /** Bytes; 0 for a directory. */
  size: number
  /** ISO 8601. */
  modified_at: string
}

/** Of `ls` and `glob`. */
export interface FilesResult {
  files: FileInfo[]
}

export interface ReadResult {
  error?: string
  /** Lines of a text, or the bytes of an image, audio, video or document. */
  content?: string | Uint8Array
  mimeType?: string
  /** Lines of the whole text. */
  totalLines?: number
  /** The first and the last line of `content`, from 1. */
  startLine?: number
  endLine?: number
  /** The offset of the line after them, where there is one. */
  nextOffset?: number
}

export interface RawFileResult {
  error?: string
  data?: { content: string | Uint8Array; mimeType: string; created_at: string; modified_at: string }
}

export interface WriteResult {
  error?: string
  path?: string
  /** Nothing of a file is in the state of the graph. */
  filesUpdate?: null
}

export interface EditResult extends WriteResult {
  /** How often the text was replaced. */
  occurrences?: number
}

export interface DeleteResult extends WriteResult {}

export interface GrepMatch {
  path: string
  /** From 1. */
  line: number
  text: string
}

export interface GrepResult {
  matches: GrepMatch[]
  /** Whether there are more than `maxCount`. */
  truncated?: boolean
}

type FileOperationError = 'file_not_found' | 'is_directory' | 'invalid_path'

export interface UploadedFile {
  path: string
  error: FileOperationError | null
}

export interface DownloadedFile {
  path: string
  content: Uint8Array | null
  error: FileOperationError | null
}
