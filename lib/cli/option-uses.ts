/** Which options a command has, with those that its kind of output and its effect bring. */

import type { CommandRow, OptionUse } from './command-types.ts'
import { COMMON_OPTIONS, OPTIONS, type OptionName } from './options.ts'

const OF_OUTPUT: Readonly<Record<CommandRow['output'], readonly OptionName[]>> = {
  items: ['json', 'jsonl', 'pager'],
  document: ['json', 'pager'],
  text: [],
}

/** Options that say where something is stored: with one of them, a command works on a database as well. */
const PLACES: readonly OptionName[] = ['dir', 'history', 'store', 'state', 'memory']

export function usesOf(row: CommandRow): readonly OptionUse[] {
  const own = (row.options ?? []).map((use) => (typeof use === 'string' ? { name: use } : use))
  const implied: readonly OptionName[] = [
    ...(own.some(({ name }) => PLACES.includes(name)) ? (['storage', 'blobs'] as const) : []),
    ...(row.isDestructive === true ? (['yes', 'dryRun'] as const) : []),
    ...OF_OUTPUT[row.output],
    ...COMMON_OPTIONS,
  ]
  return [...own, ...implied.map((name) => ({ name }))]
}

/** The spelling of an option: `-n`, `--limit`, and whether a value follows. */
export interface OptionSpelling {
  readonly short: string | undefined
  readonly long: string
  readonly takesValue: boolean
  readonly use: OptionUse
}

export function optionsOf(row: CommandRow): readonly OptionSpelling[] {
  return usesOf(row).map((use) => {
    const [, short, long = ''] = /^(?:(-\w), )?(--[\w-]+)/.exec(OPTIONS[use.name].flags) ?? []
    return { short, long, takesValue: OPTIONS[use.name].kind !== 'flag', use }
  })
}
