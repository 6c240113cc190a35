/** The options of the server. */

import type { BlobsOptions, StorageOptions } from '../index.ts'

export const TOOL_GROUPS = ['contexts', 'history', 'store', 'memory'] as const
export type ToolGroup = (typeof TOOL_GROUPS)[number]

export interface ServerSettings {
  readonly version: string
  /** Directory of the outputs; the workspace's own without it. */
  readonly dir?: string | undefined
  readonly history?: string | undefined
  readonly store?: string | undefined
  readonly agent: string
  readonly session?: string | undefined
  readonly workspace: string
  /** Directory of all memories. */
  readonly memory?: string | undefined
  /** A database in place of files. */
  readonly storage?: string | StorageOptions | undefined
  /** A bucket for large outputs, beside the database. */
  readonly blobs?: string | BlobsOptions | undefined
  /** Outputs of every workspace are listed, searched and read. */
  readonly allProjects: boolean
  readonly readOnly: boolean
  readonly groups: ReadonlySet<ToolGroup>
  readonly onDebug?: ((message: string) => void) | undefined
}

export interface HttpSettings {
  readonly port: number
  readonly host: string
  readonly tokenFile: string
}
