/** Commands on texts, and on the program itself. */

import type { CommandRow } from '../command-types.ts'

export const TEXT_COMMANDS: readonly CommandRow[] = [
  {
    name: 'redact',
    summary: 'Take the secrets out of standard input',
    details:
      'A filter: the text without its secrets, as it would be stored. Values of environment variables with secret-looking names are secret as well.',
    options: ['report', 'mask', 'check'],
    output: 'text',
    examples: [
      ['redact < server.log > shareable.log', 'a log without its keys and passwords'],
      ['redact --check < dump.txt', 'exits with 1 when there is a secret'],
    ],
    load: () => import('../commands/redact.ts'),
  },
  {
    name: 'completion',
    summary: 'Print the completions of a shell',
    arguments: [{ name: 'shell', description: 'the shell', choices: ['bash', 'zsh', 'fish', 'powershell'] }],
    output: 'text',
    examples: [
      ['completion bash > ~/.local/share/bash-completion/completions/agent-context', 'for bash'],
      ['completion fish > ~/.config/fish/completions/agent-context.fish', 'for fish'],
    ],
    load: () => import('../commands/completion.ts'),
  },
  {
    name: 'help',
    summary: 'Print help on a command, or the manual page',
    arguments: [{ name: 'command', description: 'the command', isOptional: true, isVariadic: true }],
    options: ['man'],
    output: 'text',
    examples: [
      ['help read', 'help on one command'],
      ['help --man | man -l -', 'the manual page'],
    ],
    load: () => import('../commands/help.ts'),
  },
]
