/** Completions of fish. */

import { completedCommands, firstWords } from './words.ts'

const quoted = (text: string): string => `'${text.replace(/[\\']/g, (sign) => `\\${sign}`)}'`

export function fishCompletion(): string {
  const lines = firstWords().map(
    ({ name, summary }) => `complete -c agent-context -f -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
  )
  for (const { name, options, choices } of completedCommands()) {
    const [first = '', second] = name.split(' ')
    const condition = quoted(
      `__fish_seen_subcommand_from ${first}${second === undefined ? '' : `; and __fish_seen_subcommand_from ${second}`}`,
    )
    if (choices.length > 0) {
      lines.push(`complete -c agent-context -f -n ${condition} -a ${quoted(choices.join(' '))}`)
    }
    for (const { short, long, takesValue, description, choices: values, completes } of options) {
      const spelling = `${short === undefined ? '' : `-s ${short.slice(1)} `}-l ${long.slice(2)}`
      const offered =
        values.length > 0
          ? ` -x -a ${quoted(values.join(' '))}`
          : completes === 'directory'
            ? " -x -a '(__fish_complete_directories)'"
            : takesValue
              ? ' -r'
              : ''
      lines.push(`complete -c agent-context -n ${condition} ${spelling}${offered} -d ${quoted(description)}`)
    }
  }
  return `# Completions of agent-context for fish. Made by: agent-context completion fish\n${lines.join('\n')}\n`
}
