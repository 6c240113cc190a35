/** `setup`: adds the server and the hooks to the configuration of a coding agent, or removes them. */

import { execFile } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { ClientName } from '../../hooks/hook-event.ts'
import { applyChange, type FileChange, planAddition, planRemoval } from '../../setup/change-file.ts'
import { configurationsOf } from '../../setup/configurations.ts'
import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { visible, visibleLine } from '../output/visible-text.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, settings, output } = invocation
  if (options.print === true && options.remove === true) {
    throw new CliError('--print and --remove exclude each other', EXIT.usage)
  }
  const scope = options.scope ?? 'user'
  const script = realpathSync(process.argv[1] ?? fileURLToPath(import.meta.url))
  const configurations = configurationsOf(invocation.argument('client') as ClientName, {
    scope,
    workspace: realpathSync(resolve(settings.workspace ?? '.')),
    script,
    plugin: join(dirname(script), 'opencode-plugin.js'),
  })
  if (options.print === true) {
    for (const { file, add } of configurations) {
      await output.line(`# ${visibleLine(file)}`)
      await output.line(visible(add('')))
    }
    return
  }
  // Every file is looked at before the first one is changed.
  const changes: FileChange[] = []
  for (const configuration of configurations) {
    const change = await planned(options.remove === true ? planRemoval(configuration) : planAddition(configuration))
    if (scope === 'project' && options.remove !== true && (await isTracked(change.file))) {
      throw new CliError(
        `${change.file} is tracked by git, and would get paths of this machine: use --scope user`,
        EXIT.refused,
      )
    }
    changes.push(change)
  }
  for (const change of changes) {
    await planned(applyChange(change))
    const what = change.before === change.after ? 'Unchanged' : change.after === undefined ? 'Removed' : 'Changed'
    await output.line(`${what}: ${visibleLine(change.file)}`)
  }
  if (options.remove !== true) {
    output.note(
      `The configuration names this script: ${visibleLine(script)}. npx would add half a second to each start, and clients give up after a few; run setup again when the package moves.`,
    )
  }
}

async function planned<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw 'code' in (error as Error) ? error : new CliError((error as Error).message, EXIT.refused)
  }
}

async function isTracked(file: string): Promise<boolean> {
  try {
    await promisify(execFile)('git', ['ls-files', '--error-unmatch', '--', file], { cwd: dirname(file) })
    return true
  } catch {
    return false
  }
}
