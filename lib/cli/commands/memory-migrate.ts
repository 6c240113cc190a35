/** `memory migrate`: moves the memory of a repository whose folder was moved. */

import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { counted } from '../output/units.ts'
import { library, refuseDatabase } from '../places.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, settings, output } = invocation
  refuseDatabase(invocation, 'migrate the directory, and copy it to the database then')
  if (options.from === undefined) {
    throw new CliError('say where the repository was: --from FOLDER', EXIT.usage)
  }
  const { RepoMemory } = await library()
  const report = await RepoMemory.migrate({
    fromWorkspace: options.from,
    workspace: settings.workspace ?? '.',
    root: settings.memory,
    branchScope: options.branchScope,
  })
  await output.document(report, async () => {
    for (const { conventions, decisions, notes, summaries } of report.moved) {
      await output.line(
        `Moved ${counted(conventions, 'convention')}, ${counted(decisions, 'decision')}, ${counted(notes, 'note')}, ${counted(summaries, 'summary', 'summaries')}`,
      )
    }
    if (report.moved.length === 0) {
      output.note('There was nothing to move.')
    }
  })
}
