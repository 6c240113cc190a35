/** `disk`: lists the places of all data with their sizes. */

import type { Dirent } from 'node:fs'
import { opendir, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Invocation } from '../command-types.ts'
import type { Column } from '../output/table.ts'
import { formatBytes } from '../output/units.ts'
import { openHistory, openManager, openMemory, openState, openStore, refuseDatabase, shortPath } from '../places.ts'

interface Row {
  readonly place: 'contexts' | 'history' | 'store' | 'memory' | 'state'
  readonly path: string
  readonly files: number
  readonly bytes: number
}

export async function run(invocation: Invocation): Promise<undefined> {
  const { output, signal } = invocation
  refuseDatabase(invocation, "ask the server: SELECT pg_size_pretty(pg_total_relation_size('agent_context.file'))")
  const [manager, history, store, memory, state] = await Promise.all([
    openManager(invocation),
    openHistory(invocation),
    openStore(invocation),
    openMemory(invocation),
    openState(invocation),
  ])
  const items: Row[] = [
    {
      place: 'contexts',
      path: manager.getContextDir(),
      ...(await sizeOfFolder(manager.getContextDir(), signal, false)),
    },
    { place: 'history', path: history.path, ...(await sizeWithCompanions(history.path, '.')) },
    { place: 'store', path: store.path, ...(await sizeOfFolder(store.path, signal, true)) },
    { place: 'memory', path: memory.directory, ...(await sizeOfFolder(memory.directory, signal, true)) },
    { place: 'state', path: state.path, ...(await sizeWithCompanions(state.path, '-')) },
  ]
  const columns: readonly Column<Row>[] = [
    { title: 'PLACE', cell: ({ place }) => place },
    { title: 'FILES', cell: ({ files }) => String(files), align: 'right' },
    { title: 'SIZE', cell: ({ bytes }) => (output.isTerminal ? formatBytes(bytes) : String(bytes)), align: 'right' },
    { title: 'PATH', cell: ({ path }) => (output.isTerminal ? shortPath(path) : path), isFlexible: true },
  ]
  await output.list({ items, columns, empty: '' })
}

interface Size {
  readonly files: number
  readonly bytes: number
}

async function sizeOfFolder(folder: string, signal: AbortSignal, isDeep: boolean): Promise<Size> {
  let files = 0
  let bytes = 0
  for await (const entry of entriesOf(folder)) {
    signal.throwIfAborted()
    const path = join(folder, entry.name)
    const part = entry.isDirectory() && isDeep ? await sizeOfFolder(path, signal, true) : await sizeOfFile(entry, path)
    // Beside outputs a directory has hidden files about its sessions.
    files += isDeep || !entry.name.startsWith('.') ? part.files : 0
    bytes += part.bytes
  }
  return { files, bytes }
}

async function* entriesOf(folder: string): AsyncGenerator<Dirent> {
  try {
    yield* await opendir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw error
    }
  }
}

async function sizeOfFile(entry: Pick<Dirent, 'isFile'>, path: string): Promise<Size> {
  const found = entry.isFile() ? await stat(path).catch(() => undefined) : undefined
  return found === undefined ? { files: 0, bytes: 0 } : { files: 1, bytes: found.size }
}

/** A log with the lock and the index beside it, or a database with its write-ahead log: their names begin with its own. */
async function sizeWithCompanions(path: string, separator: string): Promise<Size> {
  const folder = dirname(path)
  const names = await readdir(folder).catch(() => [])
  let files = 0
  let bytes = 0
  for (const name of names) {
    const file = join(folder, name)
    if (file === path || file.startsWith(`${path}${separator}`)) {
      const part = await sizeOfFile({ isFile: () => true }, file)
      files += part.files
      bytes += part.bytes
    }
  }
  return { files, bytes }
}
