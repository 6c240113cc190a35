/** `show`: what is known about an output, and its beginning. */

import type { Invocation } from '../command-types.ts'
import { formatBytes, formatTime } from '../output/units.ts'
import { visible, visibleLine } from '../output/visible-text.ts'
import { findingsText, locateOutput } from '../outputs.ts'
import { openManager } from '../places.ts'

const HEAD_LINES = 20
const HEAD_BYTES = 4096

export async function run(invocation: Invocation): Promise<undefined> {
  const { output } = invocation
  const manager = await openManager(invocation)
  const path = await locateOutput(manager, invocation.argument('output'), invocation)
  const [stored, head] = await Promise.all([
    manager.loadContext(path),
    manager.readContext(path, { lines: { from: 1, to: HEAD_LINES }, maxBytes: HEAD_BYTES }),
  ])
  const { result: _, ...call } = stored
  const document = {
    ...call,
    sizeBytes: head.totalBytes,
    totalLines: head.totalLines,
    head: head.text,
    isWhole: head.text.length > 0 ? head.lines?.to === head.totalLines && head.next === undefined : true,
  }
  await output.document(document, async () => {
    const { bold, dim, red } = output.style
    const row = (name: string, value: string | undefined): Promise<void> =>
      value === undefined ? Promise.resolve() : output.line(`${dim(name.padEnd(12))}${value}`)
    await output.line(bold(visibleLine(call.toolDescription)))
    await row('tool', visibleLine(call.toolName))
    await row('time', formatTime(call.timestamp, output.isTerminal))
    await row('arguments', visibleLine(JSON.stringify(call.args)))
    await row('session', call.sessionId === undefined ? undefined : visibleLine(call.sessionId))
    await row('query', call.queryId === undefined ? undefined : visibleLine(call.queryId))
    await row('outcome', call.success === undefined ? undefined : call.success ? 'succeeded' : red('failed'))
    await row('error', call.error === undefined ? undefined : visibleLine(call.error))
    await row('message', call.message === undefined ? undefined : visibleLine(call.message))
    await row('redacted', call.redactions === undefined ? undefined : visibleLine(findingsText(call.redactions)))
    await row(
      'shown',
      call.shownBytes === undefined
        ? undefined
        : `a placeholder of ${formatBytes(call.shownBytes)} in place of ${formatBytes(call.outputBytes ?? 0)}`,
    )
    await row('result', `${formatBytes(head.totalBytes)}, ${head.totalLines} lines`)
    await output.line()
    await output.line(visible(head.text))
    if (!document.isWhole) {
      output.note(dim(`The beginning only. More: agent-context read ${visibleLine(invocation.argument('output'))}`))
    }
  })
}
