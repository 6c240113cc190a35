/** Public types of the context store. */

import type { CancellationOptions, Time } from '../arguments/types.ts'
import type { EmbedOptions } from '../embedding/types.ts'
import type { IFileSystem } from '../native/types.ts'
import type { RedactionOptions } from '../redaction/types.ts'
import type { BlobsOptions, StorageOptions } from '../storage/types.ts'

/**
 * The type of an entry: something that was found out, a decision with its reasons, something that was made, a reference to where
 * something is, or a summary of what happened.
 */
export type ContextType = 'finding' | 'decision' | 'artifact' | 'reference' | 'summary'

/** The section of an application's configuration that the store reads. */
export interface ContextStoreConfig {
  contextStore?:
    | {
        /** The store's directory; `~` is expanded. An empty text counts as absent. */
        path?: string | null | undefined
      }
    | null
    | undefined
}

/** Options of `new ContextStore()`. An option that is `undefined` or `null` has its default. */
export interface ContextStoreOptions {
  /**
   * The name of the agent that writes. It is the name of a directory in the store and must be valid on every operating system: 1
   * to 100 bytes, none of `/ \ < > : " | ? *`, no dot at its beginning or end, and not a device name of Windows. A name that
   * contains a secret is refused.
   */
  agent: string
  /**
   * The store's directory; overrides the configuration and the environment. It is created when needed, with access for the owner
   * only. A relative path is resolved against the working directory at construction; `~` is expanded.
   * @default `ContextStore.resolvePath(config)`
   */
  path?: string | null | undefined
  /**
   * The id of the session; the rules for `agent` apply. Entries of a session that is named by this option or by the environment
   * are in the directory `<agent>/<sessionId>/`.
   * @default the environment variable `SFA_SESSION_ID` at construction, unless it is empty; otherwise a new UUID, which appears
   * only in the front matter of the entries
   */
  sessionId?: string | null | undefined
  /** The application's configuration, from which `path` gets its default. */
  config?: ContextStoreConfig | null | undefined
  /**
   * What a change survives after its promise has resolved: with `'process'`, the end or crash of the process; with `'full'`, also
   * a power failure.
   * @default 'full'
   */
  durability?: 'full' | 'process' | null | undefined
  /** A file system that is used instead of the local disk. */
  fileSystem?: IFileSystem | null | undefined
  /**
   * A PostgreSQL database instead of the local disk, which many machines share: its URL, or options. `path` is then a namespace in
   * the database, with `/` between its parts, and is not resolved against the home or the working directory. Excludes `fileSystem`.
   * See docs/guides/fleet.md.
   */
  storage?: string | StorageOptions | null | undefined
  /**
   * A bucket of S3, Google Cloud Storage or Azure, by its URL (`'s3://bucket/prefix'`) or with options: entries and indexes of more than
   * 256 KiB are objects in it, in place of rows of the database. Needs `storage`. Give every process that uses the namespace the same
   * bucket.
   */
  blobs?: string | BlobsOptions | null | undefined
  /**
   * Timeout of each call of `fileSystem`, in ms; `Infinity` disables it. An operation whose call exceeds it rejects with
   * `ERR_CONTEXT_IO`. Until a timed-out write, rename or removal settles, other changes of the same file are refused, because the
   * call may still take effect.
   * @default 10000
   */
  fileSystemTimeout?: number | null | undefined
  /**
   * How long `close()` waits for pending calls of `fileSystem`, in ms; `Infinity` means no limit. After that, `close()` reports
   * it to `onDebug` and resolves. `close()` always waits for operations on the local disk.
   * @default 30000
   */
  closeTimeout?: number | null | undefined
  /**
   * The rules by which secrets are removed from every entry before it is written, including its tags, links and file name.
   * `false` disables redaction.
   * @default the built-in rules, and the values of environment variables whose names look secret
   */
  redaction?: false | RedactionOptions | null | undefined
  /**
   * How long to wait for the store's lock while other processes hold it, in ms. After that, calls reject with
   * `ERR_CONTEXT_LOCK_TIMEOUT`.
   * @default 10000
   */
  lockTimeout?: number | null | undefined
  /**
   * Asserts that file locks exclude every process that can access the store, including processes on other hosts and mounts.
   * Without this option, `onDebug` reports on FUSE, 9p, SMB and unknown file systems that one of two simultaneous changes of an
   * entry through two mounts can be lost. See docs/durability.md.
   * @default false
   */
  trustLocks?: boolean | null | undefined
  /**
   * Allows a directory that belongs to another user, who can read and replace what is stored there. Without this option such a
   * directory is refused with `ERR_CONTEXT_UNSAFE_DIRECTORY`; a process that runs as root only reports it to `onDebug`.
   * @default false
   */
  allowShared?: boolean | null | undefined
  /**
   * An entry whose file would take more bytes than this is refused with `ERR_CONTEXT_TOO_LARGE`; `Infinity` means no limit.
   * @default 16777216 (16 MiB)
   */
  maxEntryBytes?: number | null | undefined
  /** Called with a message, and sometimes data, about what the object does; meant for logs. Errors that it throws are ignored. */
  onDebug?: ((msg: string, data?: unknown) => void) | null | undefined
}

/** The entry that `write` takes. An optional member that is `undefined` or `null` counts as absent. */
export interface NewStoreEntry {
  type: ContextType
  /** The part of the file name after the time: any text, which is converted to kebab-case of ASCII letters and digits. */
  slug: string
  /** The content as Markdown, with enough detail to be understood without the conversation in which it was written. */
  content: string
  /**
   * Tags for finding the entry: non-empty single lines. Surrounding white space and duplicates are removed.
   * @default []
   */
  tags?: readonly string[] | null | undefined
  /**
   * Paths of related entries, relative to the store or absolute (`filePath`). They need not exist; duplicates are removed.
   * @default []
   */
  links?: readonly string[] | null | undefined
}

/** The changes of `update`. Absent members are not changed; without any member, only a line is added to the changelog. */
export interface StoreEntryChange {
  /** The new content; the changelog is kept. */
  content?: string | null | undefined
  type?: ContextType | null | undefined
  /** The new tags, instead of all existing ones. */
  tags?: readonly string[] | null | undefined
  /** Tags to add, after `tags` was applied. */
  addTags?: readonly string[] | null | undefined
  /** Tags to remove; those that the entry does not have are ignored. */
  removeTags?: readonly string[] | null | undefined
  /** Paths of entries to link to, in addition to the existing links. */
  links?: readonly string[] | null | undefined
  /** Links to remove; those that the entry does not have are ignored. */
  removeLinks?: readonly string[] | null | undefined
}

/** Options of `update`. */
export interface UpdateOptions {
  /** The expected `revision` of the entry. If the entry has another revision, the call rejects with `ERR_CONTEXT_CONFLICT` and changes nothing. */
  ifRevision?: string | null | undefined
}

/** A line of an entry's changelog. */
export interface StoreEntryChangelogLine {
  /** The time of the change, ISO 8601 in UTC. */
  timestamp: string
  /** The agent that made the change. */
  agent: string
  /** What was changed, in one line. */
  description: string
}

/** The metadata of an entry: everything except its content. */
export interface StoreEntrySummary {
  /** The path relative to the store, with `/` between its parts, as `read`, `update` and links take it. */
  path: string
  /** The absolute path of the file. */
  filePath: string
  /** The agent that wrote the entry. */
  agent: string
  /** The session in which the entry was written; absent only in files of other programs that do not name one. */
  sessionId?: string
  /** The time at which the entry was written, ISO 8601 in UTC. */
  timestamp: string
  type: ContextType
  tags: string[]
  /** Paths of the entries that it links to, relative to the store. They need not exist. */
  links: string[]
  /** Path of the entry that replaced it, see `supersede`. */
  supersededBy?: string
}

/** A complete entry. */
export interface StoreEntry extends StoreEntrySummary {
  /** The content as Markdown, without the changelog. */
  content: string
  /** A digest of the file's content, which every change changes. */
  revision: string
  /** The changes since the entry was written, oldest first. */
  changelog: StoreEntryChangelogLine[]
}

/** Conditions for entries. An entry must meet all that are given. An empty array matches no entry. */
export interface StoreFilter extends CancellationOptions {
  /** Written by this agent, or by one of these. */
  agent?: string | readonly string[] | null | undefined
  /** Written in this session, or in one of these. */
  sessionId?: string | readonly string[] | null | undefined
  /** Of this type, or of one of these. */
  type?: ContextType | readonly ContextType[] | null | undefined
  /** The entry has all of these tags. As an object, it has all tags in `all` and at least one in `any`. */
  tags?: readonly string[] | StoreTagFilter | null | undefined
  /** Not written before this time. */
  since?: Time | null | undefined
  /** Not written after this time. */
  until?: Time | null | undefined
  /**
   * With `true`, only entries that another entry replaced; with `false`, only entries that were not replaced.
   * @default both
   */
  superseded?: boolean | null | undefined
  /**
   * The largest number of entries.
   * @default no limit for `list`
   */
  limit?: number | null | undefined
}

/** Conditions for the tags of an entry. */
export interface StoreTagFilter {
  /** The entry has all of these tags. */
  all?: readonly string[] | null | undefined
  /** The entry has at least one of these tags. */
  any?: readonly string[] | null | undefined
}

/** The query of `search`, with its conditions. */
export interface StoreQuery extends StoreFilter, EmbedOptions {
  /**
   * Words to search for in contents, tags and names. An entry must contain all of them, in any inflected form (`connected` finds
   * `connections`). `"exact phrase"`, `prefix*` and `-word` have the same meaning as in `ContextManager.search`.
   */
  query?: string | null | undefined
  /**
   * Ranks entries by how well they match `query`, which is required then, best first. An entry needs to contain only one of the
   * words. Required with `embed`.
   * @default false
   */
  ranked?: boolean | null | undefined
  /**
   * The largest number of entries.
   * @default 50
   */
  limit?: number | null | undefined
}

/** Options of `related`. */
export interface RelatedOptions extends CancellationOptions {
  /**
   * The largest number of links on the path between the entry and a result, from 1.
   * @default 1
   */
  depth?: number | null | undefined
  /**
   * `'links'` follows the links of an entry, `'backlinks'` the links of other entries to it.
   * @default 'both'
   */
  direction?: 'links' | 'backlinks' | 'both' | null | undefined
  /**
   * The largest number of entries; the nearest are returned.
   * @default 100
   */
  limit?: number | null | undefined
}

/** Options of `housekeep`, which decide which entries are removed. An option that is `undefined` or `null` has its default. */
export interface HousekeepingPolicy extends CancellationOptions {
  /**
   * Entries that were not changed for longer than this are removed: a number with `ms`, `s`, `m`, `h`, `d` or `w`.
   * @default '30d'
   */
  olderThan?: string | null | undefined
  /**
   * Durations by agent, which override `olderThan`: a duration, or an agent's declaration such as `{ "contextRetention": "30d" }`
   * (without this member, `olderThan` applies).
   */
  retention?: Readonly<Record<string, string | { contextRetention?: string | null | undefined }>> | null | undefined
  /** Removes only entries of these agents. @default all agents
   */
  agents?: readonly string[] | null | undefined
  /**
   * Removes nothing, and reports what would be removed.
   * @default false
   */
  dryRun?: boolean | null | undefined
  /**
   * Also removes old entries that other entries link to.
   * @default false
   */
  includeLinked?: boolean | null | undefined
  /** Called with the number of old entries that were processed so far. Errors that it throws are ignored. */
  onProgress?: ((progress: { done: number; total: number }) => void) | null | undefined
}

/** The result of `housekeep`. */
export interface HousekeepingReport {
  /** The removed entries; with `dryRun`, those that would be removed. */
  removed: {
    path: string
    agent: string
    /** The time of its last change, ISO 8601 in UTC. */
    timestamp: string
    bytes: number
  }[]
  /** Paths of old entries that were kept because a kept entry links to them. */
  keptLinked: string[]
  /** Paths of entries that were old when the work was planned, and that another process has changed or removed since. */
  keptChanged: string[]
  /** Size in bytes of the removed entries; with `dryRun`, of those that would be removed. */
  removedBytes: number
  dryRun: boolean
  /** Old entries that could not be checked or removed, each with the reason. They still exist. */
  problems: { path: string; reason: string }[]
}

/** The result of `verify`. */
export interface StoreVerifyReport {
  /** Number of valid entries. */
  entries: number
  /** Files in places of entries that are not valid entries, each with the reason. */
  problems: {
    path: string
    /** The line number, from 1. */
    line: number
    reason: string
  }[]
  /** Links to entries that do not exist. */
  danglingLinks: {
    /** The path of the entry that has the link. */
    path: string
    link: string
  }[]
}
