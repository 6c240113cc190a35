/** `copy`: copies what is stored between directories and databases. */

import { isAbsolute, join, resolve } from 'node:path'
import type { CopyReport } from '../../index.ts'
import { EXIT, type Invocation } from '../command-types.ts'
import { type DatabaseSetting, databaseOfOption, type PlaceOptions, storageOf } from '../database.ts'
import { CliError } from '../failures.ts'
import { startProgress } from '../output/progress.ts'
import type { Column } from '../output/table.ts'
import { counted, formatBytes } from '../output/units.ts'
import { visibleLine } from '../output/visible-text.ts'
import { library } from '../places.ts'

type Library = Awaited<ReturnType<typeof library>>

/** The members of a side, with the options that name them and the library's defaults. */
const PARTS = [
  { part: 'contextDir', option: 'dir', place: 'contexts', fallback: 'DEFAULT_CONTEXT_DIRECTORY' },
  { part: 'history', option: 'history', place: 'history', fallback: 'DEFAULT_HISTORY_PATH' },
  { part: 'store', option: 'store', place: 'store', fallback: 'DEFAULT_CONTEXT_STORE' },
  { part: 'memory', option: 'memory', place: 'memory', fallback: 'DEFAULT_REPO_MEMORY_ROOT' },
  { part: 'state', option: 'state', place: 'state', fallback: 'DEFAULT_STATE_PATH' },
] as const satisfies readonly { part: string; option: string; place: string; fallback: keyof Library }[]

interface Row extends CopyReport {
  readonly place: (typeof PARTS)[number]['place']
  readonly from: string
  readonly to: string
}

/** A folder, or a database. */
type Side = { readonly folder: string } | { readonly database: DatabaseSetting; readonly blobs: string | undefined }

export async function run(invocation: Invocation): Promise<0 | 4> {
  const { options, output, signal } = invocation
  const loaded = await library()
  const from = sideOf(invocation, 'from')
  const to = sideOf(invocation, 'to')
  const isChosen = PARTS.some(({ option }) => options[option] !== undefined)
  const progress = startProgress(output.mode === 'text')
  const items: Row[] = []
  for (const { part, option, place, fallback } of PARTS) {
    const name = options[option] ?? (isChosen ? undefined : loaded[fallback])
    if (name !== undefined) {
      progress.update(place)
      const [source, target] = [nameIn(from, name), nameIn(to, name)]
      const report = await loaded.copyStorage({
        from: { ...storageIn(from), [part]: source },
        to: { ...storageIn(to), [part]: target },
        overwrite: options.overwrite,
        dryRun: options.dryRun,
        signal,
      })
      const copied = report[part]
      if (copied !== undefined) {
        items.push({ place, from: source, to: target, ...copied })
      }
    }
  }
  progress.done()
  await output.list({ items, columns: COLUMNS, beside: { dryRun: options.dryRun === true }, empty: '' })
  const sum = (count: (row: Row) => number): number => items.reduce((total, row) => total + count(row), 0)
  const done = options.dryRun === true ? 'Would copy' : 'Copied and compared'
  output.note(
    `${done} ${counted(
      sum((row) => row.copied),
      'record',
    )} (${formatBytes(sum((row) => row.bytes))})`,
  )
  for (const { place, conflicting } of items) {
    for (const name of conflicting) {
      output.note(visibleLine(`${place}: ${name} differs there and stays; --overwrite replaces it`))
    }
  }
  return sum((row) => row.conflicts) > 0 ? EXIT.refused : EXIT.done
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'PLACE', cell: ({ place }) => place },
  { title: 'COPIED', cell: ({ copied }) => String(copied), align: 'right' },
  { title: 'REPLACED', cell: ({ replaced }) => String(replaced), align: 'right' },
  { title: 'THERE', cell: ({ alreadyThere }) => String(alreadyThere), align: 'right' },
  { title: 'DIFFERENT', cell: ({ conflicts }) => String(conflicts), align: 'right' },
  { title: 'SKIPPED', cell: ({ skipped }) => String(skipped), align: 'right' },
  { title: 'TO', cell: ({ to }) => to, isFlexible: true },
]

function sideOf({ options, settings }: Invocation, name: 'from' | 'to'): Side {
  const given = options[name]
  if (given !== undefined) {
    return /^\w+:\/\//.test(given)
      ? { database: databaseOfOption(given, `--${name}`), blobs: settings.blobs }
      : { folder: resolve(given) }
  }
  const other = name === 'from' ? 'to' : 'from'
  if (settings.database === undefined || options[other] === undefined) {
    throw new CliError(
      'say from where and to where: --from and --to take a folder or the URL of a database, and one of them can be left out if --storage or AGENT_CONTEXT_STORAGE names a database',
      EXIT.usage,
    )
  }
  return { database: settings.database, blobs: settings.blobs }
}

/** A place on one side: below the folder, or the same name in the database. */
function nameIn(side: Side, name: string): string {
  const inPlace = name.replace(/^~[/\\]/, '')
  if ('database' in side) {
    return inPlace
  }
  return isAbsolute(inPlace) ? inPlace : join(side.folder, inPlace)
}

const storageIn = (side: Side): PlaceOptions => ('database' in side ? storageOf(side) : {})
