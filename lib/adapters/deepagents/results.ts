/** The results of a backend, as `BackendProtocolV2` defines them. A failure is an `error` with the text for the model. */

export interface FileInfo {
  /** The path; that of a directory ends with `/`. */
  path: string
  is_dir: boolean
  /** The size in bytes; 0 for a directory. */
  size: number
  /** When it was last changed, ISO 8601. */
  modified_at: string
}

/** The result of `ls` and `glob`. */
export interface FilesResult {
  files: FileInfo[]
}

export interface ReadResult {
  error?: string
  /** The lines of a text, or the bytes of an image, audio, video or document. */
  content?: string | Uint8Array
  mimeType?: string
  /** Number of lines of the whole text. */
  totalLines?: number
  /** The first and the last line of `content`, from 1. */
  startLine?: number
  endLine?: number
  /** The offset of the next line, if there is one. */
  nextOffset?: number
}

export interface RawFileResult {
  error?: string
  data?: { content: string | Uint8Array; mimeType: string; created_at: string; modified_at: string }
}

export interface WriteResult {
  error?: string
  path?: string
  /** Always `null`: files are not stored in the state of the graph. */
  filesUpdate?: null
}

export interface EditResult extends WriteResult {
  /** The number of replacements. */
  occurrences?: number
}

export interface DeleteResult extends WriteResult {}

export interface GrepMatch {
  path: string
  /** The line number, from 1. */
  line: number
  text: string
}

export interface GrepResult {
  matches: GrepMatch[]
  /** Whether there are more matches than `maxCount`. */
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
