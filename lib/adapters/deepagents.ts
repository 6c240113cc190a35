/** The entry `agent-context/deepagents`: the files of deep agents in a `StateStore`. */

export { ContextBackend, type ContextBackendOptions } from './deepagents/context-backend.ts'
export type {
  DeleteResult,
  DownloadedFile,
  EditResult,
  FileInfo,
  FilesResult,
  GrepMatch,
  GrepResult,
  RawFileResult,
  ReadResult,
  UploadedFile,
  WriteResult,
} from './deepagents/results.ts'
