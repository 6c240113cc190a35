/** What completions offer, from the command table. */

import { COMMANDS, GROUPS } from '../command-table.ts'
import type { CommandRow } from '../command-types.ts'
import { type OptionSpelling, optionsOf } from '../option-uses.ts'
import { OPTIONS, type OptionRow } from '../options.ts'

export interface CompletedOption extends OptionSpelling {
  readonly description: string
  readonly choices: readonly string[]
  readonly completes: 'directory' | 'file' | undefined
}

export interface CompletedCommand {
  readonly name: string
  readonly summary: string
  readonly options: readonly CompletedOption[]
  /** What its first argument may be. */
  readonly choices: readonly string[]
}

/** The commands; a group is completed as its standard command, too. */
export function completedCommands(): readonly CompletedCommand[] {
  const groups = GROUPS.flatMap(({ name, summary, standard }) => {
    const row = COMMANDS.find((command) => command.name === `${name} ${standard}`)
    return row === undefined ? [] : [{ ...completed(row), name, summary, choices: subcommandsOf(name) }]
  })
  return [...COMMANDS.map(completed), ...groups]
}

export const firstWords = (): readonly { readonly name: string; readonly summary: string }[] => [
  ...COMMANDS.filter(({ name }) => !name.includes(' ')),
  ...GROUPS,
]

export function subcommandsOf(group: string): readonly string[] {
  return COMMANDS.filter(({ name }) => name.startsWith(`${group} `)).map(({ name }) => name.slice(group.length + 1))
}

function completed(row: CommandRow): CompletedCommand {
  const [argument] = row.arguments ?? []
  return {
    name: row.name,
    summary: row.summary,
    choices: row.name === 'help' ? firstWords().map(({ name }) => name) : (argument?.choices ?? []),
    options: optionsOf(row).map((spelling) => {
      const option: OptionRow = OPTIONS[spelling.use.name]
      return {
        ...spelling,
        description: spelling.use.description ?? option.description,
        choices: option.choices ?? [],
        completes: option.completes,
      }
    }),
  }
}
