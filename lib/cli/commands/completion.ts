/** `completion`: the completions of a shell. */

import type { Invocation } from '../command-types.ts'
import { bashCompletion } from '../completion/bash.ts'
import { fishCompletion } from '../completion/fish.ts'
import { powershellCompletion } from '../completion/powershell.ts'
import { zshCompletion } from '../completion/zsh.ts'

const SHELLS: Readonly<Record<string, () => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
  powershell: powershellCompletion,
}

export async function run(invocation: Invocation): Promise<undefined> {
  await invocation.output.write(SHELLS[invocation.argument('shell')]?.() ?? '')
}
