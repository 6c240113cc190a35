/** Completions of zsh. */

import { type CompletedOption, completedCommands, firstWords } from './words.ts'

/** Within single quotes; `[`, `]` and `:` mean something to _arguments and _describe. */
const quoted = (text: string): string => text.replace(/'/g, "'\\''").replace(/[[\]:\\]/g, (sign) => `\\${sign}`)

export function zshCompletion(): string {
  const cases = completedCommands().map(({ name, options, choices }) => {
    const offered =
      choices.length === 0 ? "'*::argument:_files'" : `'1:argument:(${choices.join(' ')})' '*::argument:_files'`
    return `    '${name}')\n      _arguments -s ${options.flatMap(specifications).join(' ')} ${offered} ;;`
  })
  return `#compdef agent-context
# Completions of agent-context for zsh. Made by: agent-context completion zsh
_agent_context() {
  local -a commands=(
${firstWords()
  .map(({ name, summary }) => `    '${name}:${quoted(summary)}'`)
  .join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  local command="\${words[2]}"
  if (( CURRENT > 3 )) && [[ "$command" == (history|store|memory) && "\${words[3]}" != -* ]]; then
    command="$command \${words[3]}"
    shift words
    (( CURRENT-- ))
  fi
  shift words
  (( CURRENT-- ))
  case "$command" in
${cases.join('\n')}
  esac
}
if [[ "$funcstack[1]" == _agent_context ]]; then
  _agent_context "$@"
else
  compdef _agent_context agent-context
fi
`
}

function specifications({ short, long, takesValue, description, choices, completes }: CompletedOption): string[] {
  const values =
    choices.length > 0
      ? `(${choices.join(' ')})`
      : completes === 'directory'
        ? '_files -/'
        : completes === 'file'
          ? '_files'
          : ''
  const argument = takesValue ? `:value:${values}` : ''
  return (short === undefined ? [long] : [short, long]).map((name) => `'*${name}[${quoted(description)}]${argument}'`)
}
