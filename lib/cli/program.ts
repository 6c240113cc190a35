/** Parses a command line by the command table, and runs the command. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { nearestName } from '../arguments/nearest-name.ts'
import { COMMANDS, GROUPS } from './command-table.ts'
import { type CommandRow, EXIT, type ExitCode, type Invocation } from './command-types.ts'
import { CliError, type Failure, failureOf, formatFailure } from './failures.ts'
import { usesOf } from './option-uses.ts'
import { OPTIONS, type OptionName, type OptionRow, type OptionValues, parseOption } from './options.ts'
import { Output } from './output/output.ts'
import { resolveSettings } from './settings.ts'
import { welcome } from './welcome.ts'

export const PROGRAM = 'agent-context'

export async function runProgram(words: readonly string[], version: string): Promise<void> {
  // The reader of a pipe has closed it: this counts as success.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? EXIT.done : EXIT.io)
  })
  process.stderr.on('error', () => undefined)
  const interruption = new AbortController()
  process.once('SIGINT', () => {
    interruption.abort(new CliError('interrupted', EXIT.interrupted, 'ERR_CLI_INTERRUPTED'))
    // A second SIGINT ends the process, also if the work ignores the signal.
    process.once('SIGINT', () => process.exit(EXIT.interrupted))
    setTimeout(() => process.exit(EXIT.interrupted), GRACE).unref()
  })
  process.exitCode = await answer(words, version, interruption.signal)
}

/** How long work may take to stop after the signal, in ms. */
const GRACE = 500

async function answer(words: readonly string[], version: string, signal: AbortSignal): Promise<ExitCode> {
  const isJson = words.includes('--json') || words.includes('--jsonl')
  try {
    if (words.length === 0) {
      process.stdout.write(welcome(version))
      return EXIT.done
    }
    refuseUnknownSubcommand(words)
    let exitCode: ExitCode = EXIT.done
    const program = buildProgram(version, async (row, command, values) => {
      exitCode = await runCommand(row, command, values, signal)
    })
    await program.parseAsync(words, { from: 'user' })
    return exitCode
  } catch (error) {
    if (words[0] === 'hook' && !(error instanceof CommanderError)) {
      // Settings that cannot be read, for example: the agent goes on as without a hook.
      const { logFailure } = await import('../hooks/hook-log.ts')
      await logFailure(join(homedir(), '.agent', 'hook.log'), failureOf(error).message)
      process.stdout.write('{}\n')
      return EXIT.done
    }
    const failure = signal.aborted ? failureOf(signal.reason) : usageFailure(error, words)
    if (failure !== undefined && failure.exitCode !== EXIT.interrupted) {
      process.stderr.write(formatFailure(failure, isJson, PROGRAM))
    }
    return failure?.exitCode ?? EXIT.done
  }
}

type Action = (row: CommandRow, command: Command, values: readonly unknown[]) => Promise<void>

/** The parser of the whole command line. */
export function buildProgram(version: string, action: Action): Command {
  const program = quiet(new Command(PROGRAM))
    .description(
      'What AI agents store: tool outputs, their history, shared findings, what is known about a repository.',
    )
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .usage('<command> [options]')
    .addHelpText('after', `\nMore on a command: ${PROGRAM} help <command>. Guide: docs/guides/cli.md`)
  const parents = new Map<string, Command>()
  for (const group of GROUPS) {
    const parent = quiet(new Command(group.name)).description(group.summary).usage('<command> [options]')
    parents.set(group.name, parent)
    program.addCommand(parent)
  }
  for (const row of COMMANDS) {
    const [first = '', second] = row.name.split(' ')
    const parent = second === undefined ? program : parents.get(first)
    const isDefault = GROUPS.some(({ name, standard }) => name === first && `${name} ${standard}` === row.name)
    parent?.addCommand(commandOf(row, second ?? first, action), { isDefault })
  }
  return program
}

function commandOf(row: CommandRow, name: string, action: Action): Command {
  const command = quiet(new Command(name)).summary(row.summary)
  command.description(row.details === undefined ? `${row.summary}.` : `${row.summary}.\n\n${row.details}`)
  for (const argument of row.arguments ?? []) {
    const text = argument.isVariadic === true ? `${argument.name}...` : argument.name
    const built = new Argument(argument.isOptional === true ? `[${text}]` : `<${text}>`, argument.description)
    command.addArgument(argument.choices === undefined ? built : built.choices(argument.choices))
  }
  for (const { name: option, description, fallback } of usesOf(row)) {
    const optionRow: OptionRow = OPTIONS[option]
    const suffix = fallback === undefined ? '' : ` (default: ${fallback})`
    const built = new Option(optionRow.flags, `${description ?? optionRow.description}${suffix}`)
    if (optionRow.choices !== undefined) {
      built.choices(optionRow.choices)
    } else if (optionRow.kind !== 'flag') {
      built.argParser((text, previous) => parsed(optionRow, text, previous))
    }
    command.addOption(built)
  }
  command.addHelpText(
    'after',
    `\nExamples:\n${row.examples.map(([line, what]) => `  ${PROGRAM} ${line}\n      ${what}`).join('\n')}`,
  )
  return command.action((...values: unknown[]) => action(row, command, values))
}

function parsed(row: OptionRow, text: string, previous: unknown): unknown {
  try {
    return parseOption(row, text, previous)
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}

/** Errors are thrown, and printed in one place. */
function quiet(command: Command): Command {
  return command
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .allowExcessArguments(false)
    .showSuggestionAfterError()
}

async function runCommand(
  row: CommandRow,
  command: Command,
  values: readonly unknown[],
  signal: AbortSignal,
): Promise<ExitCode> {
  const options = command.opts<OptionValues>()
  refuseBoth(options, 'json', 'jsonl')
  const named = new Map((row.arguments ?? []).map(({ name }, index) => [name, values[index]]))
  const output = new Output(row, options, process.env)
  const invocation: Invocation = {
    row,
    options,
    output,
    signal,
    settings: resolveSettings(options, process.env, process.cwd()),
    argument: (name) => String(named.get(name)),
    optionalArgument: (name) => named.get(name) as string | undefined,
    argumentList: (name) => (named.get(name) ?? []) as readonly string[],
  }
  const { run } = await row.load()
  try {
    return (await run(invocation)) ?? EXIT.done
  } finally {
    await output.end()
  }
}

function refuseBoth(options: OptionValues, one: OptionName, other: OptionName): void {
  if (options[one] !== undefined && options[other] !== undefined) {
    throw new CliError(`${OPTIONS[one].flags} and ${OPTIONS[other].flags} exclude each other`, EXIT.usage)
  }
}

/** Converts an error of the parser; `undefined` if the parser printed help or the version as requested. */
function usageFailure(error: unknown, words: readonly string[]): Failure | undefined {
  if (!(error instanceof CommanderError)) {
    return failureOf(error)
  }
  if (error.exitCode === 0) {
    return undefined
  }
  return new CliError(usageMessage(error, words), EXIT.usage)
}

function usageMessage(error: CommanderError, words: readonly string[]): string {
  if (error.code === 'commander.help') {
    return `which command? Run '${PROGRAM} --help' for the list`
  }
  const message = error.message.replace(/^error: /, '').replace(/\n\(Did you mean (.*)\?\)$/s, ". Did you mean '$1'?")
  const command = COMMANDS.map(({ name }) => name)
    .filter((name) => `${words.join(' ')} `.startsWith(`${name} `))
    .at(-1)
  return `${message}\nRun '${PROGRAM} ${command === undefined ? '--help' : `help ${command}`}' for what there is`
}

/** Words behind a group that has a standard command would be taken for that command's arguments. */
function refuseUnknownSubcommand([first, second]: readonly string[]): void {
  const group = GROUPS.find(({ name }) => name === first)
  if (group === undefined || second === undefined || second.startsWith('-')) {
    return
  }
  const known = COMMANDS.filter(({ name }) => name.startsWith(`${group.name} `)).map(({ name }) => name)
  if (!known.includes(`${group.name} ${second}`)) {
    const nearest = nearestName(
      second,
      known.map((name) => name.slice(group.name.length + 1)),
    )
    const hint =
      nearest === undefined
        ? `. Run '${PROGRAM} ${group.name} --help' for the list`
        : `. Did you mean '${group.name} ${nearest}'?`
    throw new CliError(`unknown command '${group.name} ${second}'${hint}`, EXIT.usage)
  }
}
