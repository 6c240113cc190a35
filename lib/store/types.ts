/** Public types of the context store. */

import type { CancellationOptions, Time } from '../arguments/types.ts'
import type { IFileSystem } from '../native/types.ts'
import type { RedactionOptions } from '../redaction/types.ts'

/** What an entry is: something found out, decided (and why), made, where something is, or what happened in short. */
export type ContextType = 'finding' | 'decision' | 'artifact' | 'reference' | 'summary'

/** The part of a shared configuration that the store reads. */
export interface ContextStoreConfig {
  contextStore?:
    | {
        /** The store's directory; `~` is expanded. Empty means absent. */
        path?: string | null | undefined
      }
    | null
    | undefined
}

/** Options of `new ContextStore()`. An option that is `undefined` or `null` has its default. */
export interface ContextStoreOptions {
  /**
   * Who writes. It names a directory of the store, and so has to be a name that every system takes: 1 to 100 bytes, no
   * `/ \ < > : " | ? *`, no dot at its beginning or end, no device of Windows. A name with a secret in it is refused.
   */
  agent: string
  /**
   * The store's directory, created on demand for the owner alone; wins over everything else. Relative paths count from the
   * working directory at the time of construction; `~` is expanded.
   * @default `ContextStore.resolvePath(config)`
   */
  path?: string | null | undefined
  /**
   * The session, by the same rules as `agent`. Entries of a session that is named, here or by the environment, lie in a
   * directory of their own: `<agent>/<sessionId>/`.
   * @default the environment variable `SFA_SESSION_ID` as it is at construction, unless it is empty; otherwise a fresh
   * UUID, which only the entries' front matter shows
   */
  sessionId?: string | null | undefined
  /** The application's configuration. */
  config?: ContextStoreConfig | null | undefined
  /**
   * What an acknowledged change survives: `'process'` the end of the process however it comes, `'full'` the loss of power
   * as well.
   * @default 'full'
   */
  durability?: 'full' | 'process' | null | undefined
  /** A file system that is used instead of the local disk. */
  fileSystem?: IFileSystem | null | undefined
  /**
   * Timeout of each call of `fileSystem`, in ms; `Infinity` disables it. An operation whose call exceeds it rejects with
   * `ERR_CONTEXT_IO`. Until a timed-out write, rename or removal settles, other changes of the same file are refused, because
   * the call may still take effect.
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
   * What is taken out of every entry before it is written, its tags, links and file name included. `false`: nothing is.
   * @default the built-in rules, and the values of environment variables whose names look secret
   */
  redaction?: false | RedactionOptions | null | undefined
  /**
   * How long to wait for the store's lock while other processes hold it, in ms. After that, calls reject with `ERR_CONTEXT_LOCK_TIMEOUT`.
   * @default 10000
   */
  lockTimeout?: number | null | undefined
  /**
   * Asserts that file locks exclude every process that can access the store, on other hosts and mounts
   * as well. Without it, `onDebug` is told that changes of one entry through two mounts at once can lose one,
   * on FUSE, 9p, SMB and unknown file systems. See docs/durability.md.
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
   * An entry whose file would take more bytes than this is refused with `ERR_CONTEXT_TOO_LARGE`; `Infinity` means no bound.
   * @default 16777216 (16 MiB)
   */
  maxEntryBytes?: number | null | undefined
  /** Called with a message, and sometimes data, about what the object does; meant for logs. Errors that it throws are ignored. */
  onDebug?: ((msg: string, data?: unknown) => void) | null | undefined
}

/** What `write` takes. `undefined` and `null` for an optional member mean absent. */
export interface NewStoreEntry {
  type: ContextType
  /** What the file is called after the time: any text, which becomes kebab-case of ASCII letters and digits. */
  slug: string
  /** Markdown, in enough detail to be understood without the conversation it comes from. */
  content: string
  /**
   * Words to find it by: non-empty single lines. White space around them and repetitions go.
   * @default []
   */
  tags?: readonly string[] | null | undefined
  /**
   * Paths of entries that belong to it, relative to the store or absolute (`filePath`). They need not exist; repetitions go.
   * @default []
   */
  links?: readonly string[] | null | undefined
}

/** What `update` changes. What is absent stays; none of it: the changelog alone grows. */
export interface StoreEntryChange {
  /** Takes the place of the content; the changelog stays. */
  content?: string | null | undefined
  type?: ContextType | null | undefined
  /** Take the place of all tags. */
  tags?: readonly string[] | null | undefined
  /** Tags to add, after `tags`. */
  addTags?: readonly string[] | null | undefined
  /** Tags to remove, where they are. */
  removeTags?: readonly string[] | null | undefined
  /** Paths of entries to link to as well. */
  links?: readonly string[] | null | undefined
  /** Links to remove, where they are. */
  removeLinks?: readonly string[] | null | undefined
}

/** Options of `update`. */
export interface UpdateOptions {
  /** The `revision` that the change was made for: when the entry has another, the call rejects with `ERR_CONTEXT_CONFLICT`. */
  ifRevision?: string | null | undefined
}

/** A line of an entry's changelog. */
export interface StoreEntryChangelogLine {
  /** When, ISO 8601 in UTC. */
  timestamp: string
  /** Who. */
  agent: string
  /** What, in one line. */
  description: string
}

/** What describes an entry: all but its text. */
export interface StoreEntrySummary {
  /** Relative to the store, `/` between its parts: what `read`, `update` and links take. */
  path: string
  /** The file, absolute. */
  filePath: string
  /** Who wrote it. */
  agent: string
  /** In which session it was written; absent only where the file of another program has none. */
  sessionId?: string
  /** When it was written, ISO 8601 in UTC. */
  timestamp: string
  type: ContextType
  tags: string[]
  /** Paths of the entries that it is linked to, relative to the store. They need not exist. */
  links: string[]
  /** Path of the entry that took its place. */
  supersededBy?: string
}

/** An entry, whole. */
export interface StoreEntry extends StoreEntrySummary {
  /** Markdown, without the changelog. */
  content: string
  /** A digest of the file: it changes with every change. */
  revision: string
  /** What was changed since it was written, oldest first. */
  changelog: StoreEntryChangelogLine[]
}

/** Which entries come into question: those that meet every condition given. An empty array is met by none. */
export interface StoreFilter extends CancellationOptions {
  /** Written by this agent, or one of several. */
  agent?: string | readonly string[] | null | undefined
  /** Written in this session, or one of several. */
  sessionId?: string | readonly string[] | null | undefined
  /** Of this type, or one of several. */
  type?: ContextType | readonly ContextType[] | null | undefined
  /** With all of these tags; as an object: with `all` of some and `any` of others. */
  tags?: readonly string[] | StoreTagFilter | null | undefined
  /** Written at this time or later. */
  since?: Time | null | undefined
  /** Written at this time or before. */
  until?: Time | null | undefined
  /**
   * `true`: only those that another took the place of; `false`: only the others.
   * @default both
   */
  superseded?: boolean | null | undefined
  /**
   * At most this many.
   * @default no limit for `list`
   */
  limit?: number | null | undefined
}

/** Tags that entries have. */
export interface StoreTagFilter {
  /** All of these. */
  all?: readonly string[] | null | undefined
  /** At least one of these. */
  any?: readonly string[] | null | undefined
}

/** What `search` looks for. */
export interface StoreQuery extends StoreFilter {
  /**
   * Words to look for in contents, tags and names, in any form (`connected` finds `connections`): entries have all of them.
   * `"exact phrase"`, `prefix*` and `-word` mean what they do in `ContextManager.search`.
   */
  query?: string | null | undefined
  /**
   * Ranks by how well an entry answers `query`, which is needed then: best first, and one of the words is enough.
   * @default false
   */
  ranked?: boolean | null | undefined
  /**
   * At most this many.
   * @default 50
   */
  limit?: number | null | undefined
}

/** Options of `related`. */
export interface RelatedOptions extends CancellationOptions {
  /**
   * How many links may lie between the entry and what is found, from 1 up.
   * @default 1
   */
  depth?: number | null | undefined
  /**
   * `'links'` follows an entry's links, `'backlinks'` the links of others to it.
   * @default 'both'
   */
  direction?: 'links' | 'backlinks' | 'both' | null | undefined
  /**
   * At most this many, the nearest first.
   * @default 100
   */
  limit?: number | null | undefined
}

/** What goes when the store is tidied. An option that is `undefined` or `null` has its default. */
export interface HousekeepingPolicy extends CancellationOptions {
  /**
   * Entries that nobody wrote or changed for longer than this go: a number with `ms`, `s`, `m`, `h`, `d` or `w`.
   * @default '30d'
   */
  olderThan?: string | null | undefined
  /**
   * By agent, in place of `olderThan`: a duration, or what the agent declares about itself
   * (`{ "contextRetention": "30d" }`; without the member `olderThan` counts).
   */
  retention?: Readonly<Record<string, string | { contextRetention?: string | null | undefined }>> | null | undefined
  /**
   * Only entries of these agents.
   * @default those of all agents
   */
  agents?: readonly string[] | null | undefined
  /**
   * Only tells what would go.
   * @default false
   */
  dryRun?: boolean | null | undefined
  /**
   * Entries that others link to go as well, once they are old enough.
   * @default false
   */
  includeLinked?: boolean | null | undefined
  /** Told how many of the old entries were dealt with. What it throws is swallowed. */
  onProgress?: ((progress: { done: number; total: number }) => void) | null | undefined
}

/** What `housekeep` did. */
export interface HousekeepingReport {
  /** Entries that went; with `dryRun`, those that would go. */
  removed: {
    path: string
    agent: string
    /** When it was written or last changed, ISO 8601 in UTC. */
    timestamp: string
    bytes: number
  }[]
  /** Paths of entries that are old enough and stay because an entry that stays links to them. */
  keptLinked: string[]
  /** Paths of entries that were old and are not any more: somebody changed them meanwhile, or removed them. */
  keptChanged: string[]
  /** Bytes of what went; with `dryRun`, of what would go. */
  removedBytes: number
  dryRun: boolean
  /** Old entries that could not be looked at again or removed, and why: they are still there. */
  problems: { path: string; reason: string }[]
}

/** What `verify` found. */
export interface StoreVerifyReport {
  /** Whole entries. */
  entries: number
  /** Files where entries are looked for that are none, and what is wrong with them. */
  problems: {
    path: string
    /** From 1. */
    line: number
    reason: string
  }[]
  /** Links to entries that are not there. */
  danglingLinks: {
    /** The entry. */
    path: string
    link: string
  }[]
}
