/** Completions of bash. */

import { completedCommands, firstWords } from './words.ts'

export function bashCompletion(): string {
  const commands = completedCommands()
  const options = commands.map(
    ({ name, options, choices }) =>
      `    '${name}') words='${[...choices, ...options.flatMap(({ short, long }) => (short === undefined ? [long] : [short, long]))].join(' ')}' ;;`,
  )
  const values = new Map<string, string>()
  for (const { long, choices, completes } of commands.flatMap((command) => command.options)) {
    const offered =
      choices.length > 0
        ? `compgen -W '${choices.join(' ')}'`
        : completes === undefined
          ? undefined
          : `compgen ${completes === 'file' ? '-f' : '-d'}`
    if (offered !== undefined) {
      values.set(long, `    ${long}) mapfile -t COMPREPLY < <(${offered} -- "$current"); return ;;`)
    }
  }
  return `# Completions of agent-context for bash. Made by: agent-context completion bash
_agent_context() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words='' command='' word
  case "$previous" in
${[...values.values()].join('\n')}
  esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in
    -*) ;;
    *)
      if [[ -z "$command" ]]; then
        command="$word"
      else
        command="$command $word"
        break
      fi
      ;;
    esac
  done
  while :; do
    case "$command" in
    '') words='${firstWords()
      .map(({ name }) => name)
      .join(' ')} --help --version' ;;
${options.join('\n')}
    *' '*) command="\${command% *}"; continue ;;
    esac
    break
  done
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _agent_context agent-context
`
}
