/** `copyStorage`: copies what is stored between directories and databases. */

import { NativeCopier } from '#addon'
import { checkBoolean, checkFilled, optional, readSignal } from '../arguments/checks.ts'
import { asContextError, contextError } from '../arguments/errors.ts'
import { ContextHistory, copyHistory } from '../history/context-history.ts'
import { cancellable, type Hooks, outbox } from '../native/border.ts'
import { resolveDirectory } from '../native/file-system.ts'
import { StateStore } from '../state/state-store.ts'
import { checkStorage, namespaceOf, type Storage } from '../storage/storage.ts'
import { ContextStore } from '../store/context-store.ts'
import { copyState } from './copy-state.ts'
import { copyPlaces, copyStorageOptions } from './option-names.ts'
import { emptyReport } from './report.ts'
import type { CopyPlaces, CopyReport, CopyStorageOptions, CopyStorageReport } from './types.ts'

const PARTS = ['contextDir', 'history', 'store', 'memory', 'state'] as const
type Part = (typeof PARTS)[number]

/** The reader of a store: it names an agent, and writes nothing. */
const AGENT = 'agent-context'
/** Values that another store accepted are accepted here. */
const MAX_VALUE_BYTES = 1_000_000_000

/** One of the two sides. */
interface Side {
  readonly given: Pick<CopyPlaces, 'storage' | 'blobs'>
  readonly storage: Storage | undefined
  readonly paths: ReadonlyMap<Part, string>
}

interface Copy {
  readonly from: Side
  readonly to: Side
  readonly overwrite: boolean
  readonly dryRun: boolean
  readonly signal: AbortSignal | undefined
}

/**
 * Copies tool outputs, histories, context stores, repository memories and state stores from one place to another: from directories
 * into a database and back, or between two of a kind. Nothing is removed at the source.
 *
 * Files keep their names and bytes and lines of a history their bytes and order: handles redeem at the destination, and sessions
 * that are live or paused can be resumed there. Items of a state store keep value, media type and expiry; their revisions and times
 * are each store's own. Locks, leases, temporary files and what is rebuilt (indexes, vectors, maps) are not copied.
 *
 * What was written is read back and compared. A copy that was interrupted can be started again: it writes what is missing. What
 * the destination has with other contents is reported and stays, unless `overwrite` is set.
 *
 * Writers at the source need not stop, but what they write during the copy may be missing: stop them, and copy again.
 *
 * @example
 * ```ts
 * const storage = 'postgres://agents@db.example/agents'
 * await copyStorage({ from: { contextDir: '~/.agent/context' }, to: { storage, contextDir: 'project-7' } })
 * ```
 *
 * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_CORRUPT` when what is read back is not what was written,
 * `ERR_CONTEXT_UNSAFE_DIRECTORY`, `ERR_CONTEXT_LOCK_TIMEOUT`, `ERR_CONTEXT_IO`, `ERR_CONTEXT_STORAGE`, `ERR_CONTEXT_TIMEOUT`,
 * `ERR_CONTEXT_ACCESS`; what was copied until then stays
 */
export async function copyStorage(options: CopyStorageOptions): Promise<CopyStorageReport> {
  const copy = checkedCopy(options)
  const report: CopyStorageReport = {}
  for (const part of PARTS) {
    const from = copy.from.paths.get(part)
    const to = copy.to.paths.get(part) ?? from
    if (from !== undefined && to !== undefined) {
      copy.signal?.throwIfAborted()
      report[part] = await COPIES[part](copy, from, to)
    }
  }
  return report
}

function checkedCopy(options: CopyStorageOptions): Copy {
  try {
    return checkCopy(options)
  } catch (error) {
    throw asContextError(error, 'copyStorage', 'options')
  }
}

function checkCopy(options: CopyStorageOptions): Copy {
  const given = copyStorageOptions(options, 'options')
  const from = sideOf(given.from, 'from')
  const to = sideOf(given.to, 'to')
  if (from.paths.size === 0) {
    throw contextError(
      'ERR_CONTEXT_INVALID_ARGUMENT',
      `from names nothing to copy: pass at least one of ${PARTS.join(', ')}`,
    )
  }
  const unnamed = [...to.paths.keys()].find((part) => !from.paths.has(part))
  if (unnamed !== undefined) {
    throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', `to.${unnamed} is given, and from.${unnamed} is not`)
  }
  return {
    from,
    to,
    overwrite: optional(given.overwrite, 'overwrite', checkBoolean) ?? false,
    dryRun: optional(given.dryRun, 'dryRun', checkBoolean) ?? false,
    signal: readSignal(given),
  }
}

function sideOf(places: CopyPlaces, name: string): Side {
  const given = copyPlaces(places, name)
  const storage = checkStorage(given, `${name}.`)
  const paths = new Map<Part, string>()
  for (const part of PARTS) {
    const path = optional(given[part], `${name}.${part}`, checkFilled)
    if (path !== undefined) {
      paths.set(part, path)
    }
  }
  const { storage: database = null, blobs = null } = given
  return { given: { storage: database, blobs }, storage, paths }
}

const COPIES: Readonly<Record<Part, (copy: Copy, from: string, to: string) => Promise<CopyReport>>> = {
  contextDir: (copy, from, to) => copyFiles(copy, 'contexts', from, to),
  memory: (copy, from, to) => copyFiles(copy, 'memories', from, to),
  async store(copy, from, to) {
    // Completes a change that a process left unfinished.
    const store = new ContextStore({ agent: AGENT, path: from, ...copy.from.given })
    await store.list({ limit: 1, signal: copy.signal })
    await store.close()
    return copyFiles(copy, 'store', from, to)
  },
  history: copyEntries,
  state: copyItems,
}

async function copyFiles(copy: Copy, kind: string, from: string, to: string): Promise<CopyReport> {
  const { overwrite, dryRun, signal } = copy
  const [source, target] = [placeOf(copy.from, from, 'from'), placeOf(copy.to, to, 'to')]
  refuseSame(copy, source, target)
  const native = new NativeCopier(outbox)
  const request = JSON.stringify({ kind, from: source, to: target, overwrite, dryRun })
  return cancellable(
    hooksOf(copy),
    native,
    signal,
    (operation) => native.copyFiles(operation, request, copy.from.storage?.native, copy.to.storage?.native),
    (_, [report = '']) => JSON.parse(report) as CopyReport,
  )
}

async function copyEntries(copy: Copy, from: string, to: string): Promise<CopyReport> {
  const { overwrite, dryRun, signal } = copy
  const source = new ContextHistory({ path: from, ...copy.from.given })
  const target = new ContextHistory({ path: to, ...copy.to.given })
  refuseSame(copy, source.path, target.path)
  try {
    const report = await copyHistory(source, target, dryRun, signal)
    if (report.conflicts === 0 || !overwrite) {
      return report
    }
    const before = (await target.verify({ signal })).entries
    if (dryRun) {
      const { entries, bytes } = await source.verify({ signal })
      return { ...emptyReport(), copied: entries, bytes, replaced: before }
    }
    await target.compact({ keepLast: 0, signal })
    return { ...(await copyHistory(source, target, false, signal)), replaced: before }
  } finally {
    await Promise.all([source.close(), target.close()])
  }
}

async function copyItems(copy: Copy, from: string, to: string): Promise<CopyReport> {
  const { overwrite, dryRun, signal } = copy
  const limits = { maxValueBytes: MAX_VALUE_BYTES, redaction: false } as const
  const source = new StateStore({ ...limits, path: from, ...copy.from.given })
  const target = new StateStore({ ...limits, path: to, ...copy.to.given })
  refuseSame(copy, source.path, target.path)
  try {
    // Reading would create the file.
    if (!(await isThere(copy.from, source.path))) {
      return emptyReport()
    }
    const isNew = !(await isThere(copy.to, target.path))
    return await copyState({ from: source, to: target, overwrite, dryRun, isNew, signal })
  } finally {
    await Promise.all([source.close(), target.close()])
  }
}

/** Whether a store is there; in a database, it counts as there. */
async function isThere({ storage }: Side, path: string): Promise<boolean> {
  if (storage !== undefined) {
    return true
  }
  // Loaded here: most processes copy nothing.
  const { access } = await import('node:fs/promises')
  return access(path).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => code !== 'ENOENT',
  )
}

/** The absolute path, or the name in the database. */
const placeOf = ({ storage }: Side, path: string, name: string): string =>
  storage === undefined ? resolveDirectory(path, name, undefined).directory : namespaceOf(path, name)

function refuseSame({ from, to }: Copy, source: string, target: string): void {
  const isSameSide =
    from.storage === undefined || to.storage === undefined
      ? from.storage === to.storage
      : JSON.stringify(from.given) === JSON.stringify(to.given)
  if (isSameSide && source === target) {
    throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', `from and to are the same place: ${source}`)
  }
}

/** Both databases may ask for passwords. */
const hooksOf = ({ from, to }: Copy): Hooks => ({
  fileSystem: undefined,
  onDebug: undefined,
  redaction: undefined,
  passwords: [...(from.storage?.passwords ?? []), ...(to.storage?.passwords ?? [])],
})
