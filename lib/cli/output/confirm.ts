/** Asks before something is removed. */

import { createInterface } from 'node:readline/promises'
import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'

/**
 * @param action what would happen, as a question: `Remove 3 outputs (12 KB)?`
 * @throws CliError when there is no terminal to ask on, or the answer is no
 */
export async function confirm({ options, row, signal }: Invocation, action: string): Promise<void> {
  if (options.yes === true) {
    return
  }
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) {
    throw new CliError(
      `${action} There is no terminal to ask on: add --yes to do it, or --dry-run to see what '${row.name}' would do`,
      EXIT.refused,
      'ERR_CLI_NOT_CONFIRMED',
    )
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await terminal.question(`${action} [y/N] `, { signal })
    if (!/^y(es)?$/i.test(answer.trim())) {
      throw new CliError('Nothing was changed', EXIT.refused, 'ERR_CLI_NOT_CONFIRMED')
    }
  } finally {
    terminal.close()
  }
}
