/** `store verify`: what is wrong with the entries of the store. */

import { EXIT, type Invocation } from '../command-types.ts'
import { counted } from '../output/units.ts'
import { visibleLine } from '../output/visible-text.ts'
import { openStore } from '../places.ts'

export async function run(invocation: Invocation): Promise<0 | 1> {
  const { output, signal } = invocation
  const report = await (await openStore(invocation)).verify({ signal })
  await output.document(report, async () => {
    for (const { path, line, reason } of report.problems) {
      await output.line(visibleLine(`${path}:${line}: ${reason}`))
    }
    for (const { path, link } of report.danglingLinks) {
      await output.line(visibleLine(`${path}: links to ${link}, which is not there`))
    }
    output.note(counted(report.entries, 'whole entry', 'whole entries'))
  })
  return report.problems.length + report.danglingLinks.length === 0 ? EXIT.done : EXIT.nothing
}
