/** Imports the lines of an export. Secrets are redacted, and existing data is never replaced. */

import { join } from 'node:path'
import type { ContextEntryInput, ContextHistory, StateValue } from '../../index.ts'
import type { Invocation } from '../command-types.ts'
import { failureOf } from '../failures.ts'
import { library, openHistory, openManager, openMemory, openState, openStore } from '../places.ts'
import { isThere, namespaceText } from '../state-items.ts'
import type { PlaceName } from './chosen-places.ts'
import { type ArchivedState, MEMORY_FILES } from './lines.ts'
import { type LocalCopy, localCopy } from './local-copy.ts'
import { writeNewFile } from './new-file.ts'

/** `agent/entry.md` or `agent/session/entry.md`, without hidden parts. */
const STORE_PATH = /^(?:[^/\\.:\0][^/\\:\0]{0,99}\/){1,2}[^/\\.:\0][^/\\:\0]{0,200}\.md$/
/** The number of concurrent appends. */
const BATCH = 64

export interface ImportReport {
  readonly imported: { contexts: number; entries: number; storeEntries: number; memory: number; state: number }
  alreadyThere: number
  /** Records that had secrets. */
  redacted: number
  readonly skipped: { name: string; reason: string }[]
}

export interface Importers extends AsyncDisposable {
  context(name: string, text: string, bytes: string | undefined): Promise<void>
  entry(text: string, lineNumber: number): Promise<void>
  storeEntry(path: string, text: string): Promise<void>
  memory(name: string, text: string): Promise<void>
  state(item: ArchivedState): Promise<void>
  finish(): Promise<ImportReport>
}

export async function createImporters(invocation: Invocation, chosen: ReadonlySet<PlaceName>): Promise<Importers> {
  const isDryRun = invocation.options.dryRun === true
  const { redact, redactValue } = await library()
  const report: ImportReport = {
    imported: { contexts: 0, entries: 0, storeEntries: 0, memory: 0, state: 0 },
    alreadyThere: 0,
    redacted: 0,
    skipped: [],
  }
  const skip = (name: string, reason: string): undefined => void report.skipped.push({ name, reason })

  /** JSON keeps its spelling where it has no secrets. */
  const redactJson = (text: string): string => {
    const { value, findings } = redactValue(JSON.parse(text))
    report.redacted += findings.length > 0 ? 1 : 0
    return findings.length > 0 ? JSON.stringify(value) : text
  }
  const place = async (root: string, path: string, name: string, text: string): Promise<boolean> => {
    const outcome = await writeNewFile(root, path, text, isDryRun && copy === undefined)
    if (outcome === 'different') {
      skip(name, 'there is another file of this name')
    }
    report.alreadyThere += outcome === 'same' ? 1 : 0
    return outcome === 'written'
  }

  const manager = chosen.has('contexts') ? await openManager(invocation) : undefined
  // Files are gathered, and copied to the database at the end.
  const copy = await localCopy(invocation)
  const onFiles = copy?.invocation ?? invocation
  const store = chosen.has('store') ? await openStore(onFiles) : undefined
  const repository = chosen.has('memory') ? await openMemory(onFiles) : undefined
  const state = chosen.has('state') ? await createStateImporter(invocation, report, isDryRun) : undefined
  const entries = chosen.has('history') ? await createEntryImporter(invocation, report) : undefined

  return {
    async context(name, text, bytes) {
      if (manager === undefined) {
        return
      }
      try {
        const files = { filename: name, record: text, bytes: bytes === undefined ? null : Buffer.from(bytes, 'base64') }
        const { isNew, redactions } = await manager.importRecord(files, { dryRun: isDryRun, signal: invocation.signal })
        report.imported.contexts += isNew ? 1 : 0
        report.alreadyThere += isNew ? 0 : 1
        report.redacted += redactions.length > 0 ? 1 : 0
      } catch (error) {
        invocation.signal.throwIfAborted()
        skip(name, failureOf(error).message)
      }
    },
    async entry(text, lineNumber) {
      await entries?.add(text, lineNumber)
    },
    async storeEntry(path, text) {
      if (store === undefined) {
        return
      }
      if (!STORE_PATH.test(path)) {
        return skip(path, 'this is no path of an entry')
      }
      const redacted = redact(text)
      report.redacted += redacted.findings.length > 0 ? 1 : 0
      if (await place(store.path, join(store.path, path), path, redacted.text)) {
        report.imported.storeEntries++
      }
    },
    async memory(name, text) {
      if (repository === undefined) {
        return
      }
      if (!MEMORY_FILES.some((known) => known === name)) {
        return skip(name, 'this is no file of a memory')
      }
      const { directory } = repository
      const lines = name.endsWith('.jsonl') ? text.split('\n') : [text]
      let redacted: string
      try {
        redacted = lines.map((line) => (line.trim() === '' ? line : redactJson(line))).join('\n')
      } catch (error) {
        return skip(name, failureOf(error).message)
      }
      if (await place(directory, join(directory, name), name, redacted)) {
        report.imported.memory++
      }
    },
    async state(item) {
      await state?.add(item)
    },
    async finish() {
      await entries?.flush()
      await state?.close()
      if (copy !== undefined) {
        await copyFiles(copy, invocation, report)
      }
      return report
    },
    async [Symbol.asyncDispose]() {
      await copy?.[Symbol.asyncDispose]()
    },
  }
}

/** Copies the gathered files to the database, and counts what is new there. */
async function copyFiles(copy: LocalCopy, { options, signal }: Invocation, report: ImportReport): Promise<void> {
  const { copyStorage } = await library()
  const { files, database } = await copy.places(['store', 'memory'])
  const { store, memory } = await copyStorage({ from: files, to: database, dryRun: options.dryRun, signal })
  report.imported.storeEntries = store?.copied ?? 0
  report.imported.memory = memory?.copied ?? 0
  for (const part of [store, memory]) {
    report.alreadyThere += part?.alreadyThere ?? 0
    for (const name of part?.conflicting ?? []) {
      report.skipped.push({ name, reason: 'there is another file of this name' })
    }
  }
}

/** Appends entries through the library, so that they are redacted, locked and indexed as usual; entries whose ids exist are skipped. */
async function createEntryImporter(
  invocation: Invocation,
  report: ImportReport,
): Promise<{ add(text: string, lineNumber: number): Promise<void>; flush(): Promise<void> }> {
  const history: ContextHistory = await openHistory(invocation)
  const known = new Set((await history.search({ limit: Number.MAX_SAFE_INTEGER })).map(({ id }) => id))
  let waiting: ContextEntryInput[] = []
  const flush = async (): Promise<void> => {
    const batch = waiting
    waiting = []
    await Promise.all(batch.map((entry) => history.append(entry)))
  }
  return {
    async add(text, lineNumber) {
      const entry = parseEntry(text)
      if (entry === undefined) {
        report.skipped.push({ name: `line ${lineNumber}`, reason: 'this is no entry of a history' })
        return
      }
      if (typeof entry.id === 'string' && known.has(entry.id)) {
        report.alreadyThere++
        return
      }
      report.imported.entries++
      if (invocation.options.dryRun !== true) {
        waiting.push(entry)
        if (waiting.length >= BATCH) {
          await flush()
        }
      }
    },
    flush,
  }
}

/** Imports items unchanged, as the state store stores them: an agent that continues from a redacted state would behave differently. */
async function createStateImporter(
  invocation: Invocation,
  report: ImportReport,
  isDryRun: boolean,
): Promise<{ add(item: ArchivedState): Promise<void>; close(): Promise<void> }> {
  const store = await openState(invocation)
  return {
    async add({ namespace, key, text, isBinary, mediaType, expiresAt }) {
      const name = `state ${namespaceText(namespace)}/${key}`
      if (expiresAt !== undefined && !(Date.parse(expiresAt) > Date.now())) {
        report.skipped.push({ name, reason: 'it has expired' })
        return
      }
      try {
        const value = isBinary === true ? new Uint8Array(Buffer.from(text, 'base64')) : (JSON.parse(text) as StateValue)
        const there = isDryRun && !(await isThere(store, invocation)) ? undefined : await store.get(namespace, key)
        if (there === undefined) {
          await (isDryRun ? undefined : store.put(namespace, key, value, { mediaType, expiresAt, ifRevision: null }))
          report.imported.state++
        } else if (isEqual(there.value, value) && there.mediaType === mediaType) {
          report.alreadyThere++
        } else {
          report.skipped.push({ name, reason: 'there is another value under this key' })
        }
      } catch (error) {
        report.skipped.push({ name, reason: failureOf(error).message })
      }
    },
    close: () => store.close(),
  }
}

/** Compares values in their stored form, JSON by its text. */
function isEqual(one: StateValue, other: StateValue): boolean {
  if (one instanceof Uint8Array || other instanceof Uint8Array) {
    return one instanceof Uint8Array && other instanceof Uint8Array && Buffer.compare(one, other) === 0
  }
  return JSON.stringify(one) === JSON.stringify(other)
}

/** A line of the file as `append` takes it. */
function parseEntry(text: string): ContextEntryInput | undefined {
  try {
    const { tool_name: toolName, ...rest } = JSON.parse(text) as Record<string, unknown>
    return typeof toolName === 'string' ? { ...rest, toolName } : undefined
  } catch {
    return undefined
  }
}
