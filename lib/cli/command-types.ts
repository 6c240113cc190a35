/** The rows of the command table, and the argument of a command's module. */

import type { OptionName, OptionValues } from './options.ts'
import type { Output } from './output/output.ts'
import type { Settings } from './settings.ts'

/** Exit codes. */
export const EXIT = {
  done: 0,
  /** Nothing was found, or a check failed. */
  nothing: 1,
  usage: 2,
  notFound: 3,
  /** Outside the directory, a conflict, a lock, not confirmed. */
  refused: 4,
  /** The file system failed, or a file is damaged. */
  io: 5,
  redaction: 6,
  interrupted: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export interface ArgumentRow {
  readonly name: string
  readonly description: string
  readonly isOptional?: boolean
  /** Takes all remaining words; only the last argument may do so. */
  readonly isVariadic?: boolean
  readonly choices?: readonly string[]
}

/** An option of the vocabulary, with what one command says differently. */
export interface OptionUse {
  readonly name: OptionName
  readonly description?: string
  /** For the help text; the command applies it. */
  readonly fallback?: string
}

/**
 * What a command prints: `items` is a list, which `--json` gives as one document and `--jsonl` as a stream; `document` is one
 * object; `text` knows no JSON.
 */
export type CommandOutput = 'items' | 'document' | 'text'

export interface CommandRow {
  /** As typed: `list`, `store write`. */
  readonly name: string
  readonly summary: string
  /** More for the help text and the manual. */
  readonly details?: string
  readonly arguments?: readonly ArgumentRow[]
  readonly options?: readonly (OptionName | OptionUse)[]
  readonly output: CommandOutput
  /** Removes or replaces something: has `--yes` and `--dry-run`, asks on a terminal, refuses without one. */
  readonly isDestructive?: boolean
  /** A command line without the program's name, and what it does. */
  readonly examples: readonly (readonly [commandLine: string, purpose: string])[]
  load(): Promise<CommandModule>
}

export interface CommandModule {
  /** @returns what the process ends with; 0 when it returns nothing. */
  run(invocation: Invocation): Promise<ExitCode | undefined>
}

/** What a command is called with. */
export interface Invocation {
  readonly row: CommandRow
  readonly options: OptionValues
  /** The argument of this name; throws when it is absent, which the parser excludes for required ones. */
  argument(name: string): string
  optionalArgument(name: string): string | undefined
  /** The values of a variadic argument. */
  argumentList(name: string): readonly string[]
  readonly settings: Settings
  readonly output: Output
  /** Aborted by SIGINT. */
  readonly signal: AbortSignal
}
