/** `import`: what an export holds, into the places of this machine. */

import { createReadStream } from 'node:fs'
import { chosenPlaces } from '../archive/chosen-places.ts'
import { createImporters, type Importers } from '../archive/importers.ts'
import { ARCHIVE_VERSION, type ArchivedState, type ArchiveLine } from '../archive/lines.ts'
import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { counted } from '../output/units.ts'
import { visibleLine } from '../output/visible-text.ts'
import { textLines } from '../text-lines.ts'

export async function run(invocation: Invocation): Promise<0 | 4> {
  const { options, output, signal } = invocation
  const file = invocation.argument('file')
  const input = file === '-' ? process.stdin : createReadStream(file)
  await using importers = await createImporters(invocation, chosenPlaces(invocation.settings))
  let number = 0
  for await (const text of textLines(input)) {
    signal.throwIfAborted()
    number++
    if (text !== '') {
      await importLine(importers, parseLine(text, number), number)
    }
  }
  if (number === 0) {
    throw new CliError('there is nothing to import: the file is empty', EXIT.usage)
  }
  const report = { ...(await importers.finish()), dryRun: options.dryRun === true }
  await output.document(report, async () => {
    const done = report.dryRun ? 'Would import' : 'Imported'
    const { contexts, entries, storeEntries, memory, state } = report.imported
    await output.line(
      `${done} ${counted(contexts, 'output')}, ${counted(entries, 'history entry', 'history entries')}, ${counted(storeEntries, 'store entry', 'store entries')}, ${counted(memory, 'memory file')}, ${counted(state, 'state item')}`,
    )
    output.note(
      `${report.alreadyThere} were there already; secrets were taken out of ${report.redacted}; ${report.skipped.length} skipped`,
    )
    for (const { name, reason } of report.skipped) {
      output.note(visibleLine(`${name}: ${reason}`))
    }
  })
  return report.skipped.length > 0 ? EXIT.refused : EXIT.done
}

function parseLine(text: string, number: number): ArchiveLine {
  let line: unknown
  try {
    line = JSON.parse(text)
  } catch {
    throw new CliError(`line ${number} is no JSON; an export has a JSON object on each line`, EXIT.usage)
  }
  const { kind, format, version } = (line ?? {}) as { kind?: unknown; format?: unknown; version?: unknown }
  if (number === 1 && (kind !== 'header' || format !== 'agent-context')) {
    throw new CliError(
      "this is no export: its first line is not the header that 'agent-context export' writes",
      EXIT.usage,
    )
  }
  if (kind === 'header' && version !== ARCHIVE_VERSION) {
    throw new CliError(`this export has version ${String(version)}; update agent-context to read it`, EXIT.usage)
  }
  return line as ArchiveLine
}

async function importLine(importers: Importers, line: ArchiveLine, number: number): Promise<void> {
  if (line.kind === 'header') {
    return
  }
  if (typeof line.text !== 'string') {
    throw new CliError(`line ${number} has no text`, EXIT.usage)
  }
  switch (line.kind) {
    case 'context':
      return importers.context(String(line.name), line.text, line.bytes === undefined ? undefined : String(line.bytes))
    case 'entry':
      return importers.entry(line.text, number)
    case 'storeEntry':
      return importers.storeEntry(String(line.path), line.text)
    case 'memory':
      return importers.memory(String(line.name), line.text)
    case 'state':
      if (!isState(line)) {
        throw new CliError(`line ${number} is no item of a state store`, EXIT.usage)
      }
      return importers.state(line)
    default:
      throw new CliError(`line ${number} is of no known kind`, EXIT.usage)
  }
}

function isState({ namespace, key, mediaType, expiresAt }: ArchivedState): boolean {
  const isTextOrAbsent = (value: unknown): boolean => value === undefined || typeof value === 'string'
  return (
    Array.isArray(namespace) &&
    namespace.every((segment) => typeof segment === 'string') &&
    typeof key === 'string' &&
    isTextOrAbsent(mediaType) &&
    isTextOrAbsent(expiresAt)
  )
}
