/** The manual page, from the command table, as roff. */

import { COMMANDS } from './command-table.ts'
import { usesOf } from './option-uses.ts'
import { OPTIONS } from './options.ts'
import { SETTINGS_FILE } from './settings.ts'

const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [0, 'done'],
  [1, 'nothing was found, or a check failed'],
  [2, 'the command line is wrong'],
  [3, 'there is no such output, entry or record'],
  [4, 'refused: outside the directory, a conflict, a lock, not confirmed'],
  [5, 'the file system failed, or a file is damaged'],
  [6, 'redaction failed; nothing was written'],
  [130, 'interrupted'],
]

const escaped = (text: string): string =>
  text
    .replace(/\\/g, '\\e')
    .replace(/-/g, '\\-')
    .replace(/^([.'])/gm, '\\&$1')

export function manualPage(): string {
  const commands = COMMANDS.flatMap((row) => [
    `.SS "${escaped([row.name, ...(row.arguments ?? []).map(({ name, isOptional, isVariadic }) => wrapped(name, isOptional, isVariadic))].join(' '))}"`,
    `${escaped(row.summary)}.`,
    ...(row.details === undefined ? [] : ['.PP', escaped(row.details)]),
    ...usesOf(row).flatMap(({ name, description, fallback }) => [
      '.TP',
      `.B ${escaped(OPTIONS[name].flags)}`,
      escaped(`${description ?? OPTIONS[name].description}${fallback === undefined ? '' : ` (default: ${fallback})`}`),
    ]),
    ...row.examples.flatMap(([line, purpose]) => [
      '.PP',
      `${escaped(purpose)}:`,
      '.PP',
      '.nf',
      `  ${escaped(`agent-context ${line}`)}`,
      '.fi',
    ]),
  ])
  return `${[
    '.TH AGENT\\-CONTEXT 1',
    '.SH NAME',
    'agent\\-context \\- what AI agents store, on the command line',
    '.SH SYNOPSIS',
    '.B agent\\-context',
    '\\fIcommand\\fR [\\fIoptions\\fR]',
    '.SH DESCRIPTION',
    'Lists, searches, reads, checks and moves what the package agent\\-context stores: tool outputs, the history of calls, findings that agents share, and what is known about a repository.',
    '.SH COMMANDS',
    ...commands,
    '.SH SETTINGS',
    escaped(
      `Options win over environment variables, these over the file ${SETTINGS_FILE} in the working directory or a folder above it, up to the root of the repository. Its members: dir, history, store, state, agent, workspace, memory.`,
    ),
    '.SH EXIT STATUS',
    ...EXIT_CODES.flatMap(([code, meaning]) => ['.TP', `.B ${code}`, escaped(meaning)]),
  ].join('\n')}\n`
}

function wrapped(name: string, isOptional = false, isVariadic = false): string {
  const text = isVariadic ? `${name}...` : name
  return isOptional ? `[${text}]` : `<${text}>`
}
