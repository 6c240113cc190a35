/** `export`: outputs, history, store, memory and state in one file. */

import { createReadStream } from 'node:fs'
import { open, unlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { chosenPlaces } from '../archive/chosen-places.ts'
import { contentIfThere } from '../archive/content-if-there.ts'
import { ARCHIVE_VERSION, type ArchiveLine, bytesFileOf, MEMORY_FILES } from '../archive/lines.ts'
import { localCopy } from '../archive/local-copy.ts'
import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { library, openHistory, openManager, openMemory, openState, openStore } from '../places.ts'
import { isThere, itemsBelow } from '../state-items.ts'
import { textLines } from '../text-lines.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output, signal } = invocation
  if (options.out === undefined) {
    for await (const line of linesOf(invocation)) {
      signal.throwIfAborted()
      await output.write(`${JSON.stringify(line)}\n`)
    }
    return
  }
  await exportToFile(invocation, options.out)
}

/** Writes the export atomically to a new file with access for the owner only. */
async function exportToFile(invocation: Invocation, path: string): Promise<void> {
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST'
      ? new CliError(`${path} is there already; name another file, or remove it`, EXIT.refused)
      : error
  })
  try {
    for await (const line of linesOf(invocation)) {
      invocation.signal.throwIfAborted()
      await file.write(`${JSON.stringify(line)}\n`)
    }
    await file.sync()
  } catch (error) {
    await unlink(path).catch(() => undefined)
    throw error
  } finally {
    await file.close()
  }
}

async function* linesOf(invocation: Invocation): AsyncGenerator<ArchiveLine> {
  const chosen = chosenPlaces(invocation.settings)
  yield { kind: 'header', format: 'agent-context', version: ARCHIVE_VERSION }
  await using copy = await localCopy(invocation)
  if (copy !== undefined && [...chosen].some((name) => name !== 'state')) {
    const { database, files } = await copy.places([...chosen])
    await (await library()).copyStorage({ from: database, to: files, signal: invocation.signal })
  }
  const onFiles = copy?.invocation ?? invocation
  if (chosen.has('contexts')) {
    yield* contexts(onFiles)
  }
  if (chosen.has('history')) {
    yield* entries(onFiles)
  }
  if (chosen.has('store')) {
    yield* storeEntries(onFiles)
  }
  if (chosen.has('memory')) {
    yield* memoryFiles(onFiles)
  }
  if (chosen.has('state')) {
    yield* stateItems(invocation)
  }
}

async function* contexts(invocation: Invocation): AsyncGenerator<ArchiveLine> {
  const manager = await openManager(invocation)
  const pointers = await manager.listContexts(undefined, { signal: invocation.signal })
  for (const { filepath } of pointers.sort((one, other) => (one.filename < other.filename ? -1 : 1))) {
    const text = (await contentIfThere(filepath))?.toString('utf8')
    if (text !== undefined) {
      const bytes = (await contentIfThere(bytesFileOf(filepath)))?.toString('base64')
      yield { kind: 'context', name: basename(filepath), text, ...(bytes === undefined ? {} : { bytes }) }
    }
  }
}

async function* entries(invocation: Invocation): AsyncGenerator<ArchiveLine> {
  const { path } = await openHistory(invocation)
  const input = createReadStream(path, 'utf8')
  try {
    for await (const text of textLines(input)) {
      if (text.trim() !== '') {
        yield { kind: 'entry', text }
      }
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw error
    }
  }
}

async function* storeEntries(invocation: Invocation): AsyncGenerator<ArchiveLine> {
  const store = await openStore(invocation)
  const summaries = await store.list({ signal: invocation.signal })
  for (const { path, filePath } of summaries.sort((one, other) => (one.path < other.path ? -1 : 1))) {
    const text = (await contentIfThere(filePath))?.toString('utf8')
    if (text !== undefined) {
      yield { kind: 'storeEntry', path, text }
    }
  }
}

async function* memoryFiles(invocation: Invocation): AsyncGenerator<ArchiveLine> {
  const { directory } = await openMemory(invocation)
  for (const name of MEMORY_FILES) {
    const text = (await contentIfThere(join(directory, name)))?.toString('utf8')
    if (text !== undefined) {
      yield { kind: 'memory', name, text }
    }
  }
}

async function* stateItems(invocation: Invocation): AsyncGenerator<ArchiveLine> {
  const store = await openState(invocation)
  const items = (await isThere(store, invocation)) ? itemsBelow(store, [], { signal: invocation.signal }) : []
  for await (const { namespace, key, value, mediaType, expiresAt } of items) {
    const content =
      value instanceof Uint8Array
        ? ({ text: Buffer.from(value).toString('base64'), isBinary: true } as const)
        : { text: JSON.stringify(value) }
    yield {
      kind: 'state',
      namespace,
      key,
      ...content,
      ...(mediaType === undefined ? {} : { mediaType }),
      ...(expiresAt === undefined ? {} : { expiresAt }),
    }
  }
}
