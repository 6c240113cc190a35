/** Completions of PowerShell. */

import { completedCommands, firstWords } from './words.ts'

const quoted = (text: string): string => `'${text.replace(/'/g, "''")}'`

export function powershellCompletion(): string {
  const commands = completedCommands().map(({ name, options, choices }) => {
    const words = [...choices, ...options.flatMap(({ short, long }) => (short === undefined ? [long] : [short, long]))]
    return `    ${quoted(name)} = @(${words.map(quoted).join(', ')})`
  })
  return `# Completions of agent-context for PowerShell. Made by: agent-context completion powershell
Register-ArgumentCompleter -Native -CommandName agent-context -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $table = @{
    '' = @(${[...firstWords().map(({ name }) => name), '--help', '--version'].map(quoted).join(', ')})
${commands.join('\n')}
  }
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
    ForEach-Object { $_.ToString() } | Where-Object { -not $_.StartsWith('-') })
  $command = ''
  foreach ($length in 2, 1) {
    $candidate = ($words | Select-Object -First $length) -join ' '
    if ($command -eq '' -and $table.ContainsKey($candidate)) { $command = $candidate }
  }
  $table[$command] | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`
}
