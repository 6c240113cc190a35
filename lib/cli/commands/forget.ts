/** `forget`: removes one output, or all that meet conditions. */

import type { ForgetFilter, ForgetReport } from '../../manager/types.ts'
import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { confirm } from '../output/confirm.ts'
import { counted, formatBytes } from '../output/units.ts'
import { visibleLine } from '../output/visible-text.ts'
import { locateOutput, timeOf } from '../outputs.ts'
import { openManager } from '../places.ts'

const CONDITIONS = ['tool', 'since', 'until', 'session'] as const

export async function run(invocation: Invocation): Promise<undefined> {
  const given = invocation.optionalArgument('output')
  const condition = CONDITIONS.find((name) => invocation.options[name] !== undefined)
  if (given === undefined && condition === undefined) {
    throw new CliError(
      "name an output, or give a condition: --session, --tool, --since or --until. 'agent-context list' shows what there is",
      EXIT.usage,
    )
  }
  if (given === undefined) {
    return forgetMatching(invocation)
  }
  if (condition !== undefined && condition !== 'session') {
    throw new CliError(
      `--${condition} is a condition, and '${visibleLine(given)}' is one output: give either`,
      EXIT.usage,
    )
  }
  return forgetOne(invocation, given)
}

async function forgetOne(invocation: Invocation, given: string): Promise<undefined> {
  const { options, output } = invocation
  const manager = await openManager(invocation)
  const path = await locateOutput(manager, given, invocation)
  const { toolDescription, timestamp } = await manager.loadContext(path)
  const isDryRun = options.dryRun === true
  if (!isDryRun) {
    await confirm(invocation, `Remove '${visibleLine(toolDescription)}' of ${timestamp}?`)
    if (!(await manager.forget(path))) {
      throw new CliError(`there is no output '${given}' any more`, EXIT.notFound)
    }
  }
  await output.document({ removed: [{ output: given, toolDescription, timestamp }], dryRun: isDryRun }, () =>
    output.line(`${isDryRun ? 'Would remove' : 'Removed'} ${visibleLine(toolDescription)} (${timestamp})`),
  )
}

async function forgetMatching(invocation: Invocation): Promise<undefined> {
  const { options, output, signal } = invocation
  const manager = await openManager(invocation)
  const since = timeOf(options.since)
  const until = timeOf(options.until)
  const filter: ForgetFilter = {
    toolName: options.tool,
    // The bounds of the filter are exclusive, those of the options are not.
    after: since === undefined ? undefined : since - 1,
    before: until === undefined ? undefined : until + 1,
  }
  const sessions = await manager.sessions({ signal })
  const isKept = ({ state }: { state: string }): boolean => state !== 'ended'
  const kept = options.session === undefined ? sessions.filter(isKept).map(({ id }) => id) : []
  const chosen =
    options.session === undefined
      ? sessions.filter((session) => !isKept(session)).map(({ id }) => id)
      : [options.session]
  const forget = (dryRun: boolean): Promise<ForgetReport[]> =>
    Promise.all(chosen.map((sessionId) => manager.forget({ ...filter, sessionId }, { dryRun })))
  const isDryRun = options.dryRun === true
  let reports = await forget(true)
  if (!isDryRun && countOf(reports) > 0) {
    await confirm(invocation, `Remove ${counted(countOf(reports), 'output')} (${formatBytes(bytesOf(reports))})?`)
    reports = await forget(false)
  }
  const removed = reports
    .flatMap(({ contexts }) => contexts)
    .map(({ filepath, handle, toolName, sizeBytes }) => ({ output: handle ?? filepath, filepath, toolName, sizeBytes }))
  await output.document({ removed, keptSessions: kept, dryRun: isDryRun }, async () => {
    if (isDryRun) {
      for (const item of removed) {
        await output.line([item.output, String(item.sizeBytes), item.toolName].map(visibleLine).join('\t'))
      }
    }
    await output.line(
      `${isDryRun ? 'Would remove' : 'Removed'} ${counted(countOf(reports), 'output')} (${formatBytes(bytesOf(reports))})`,
    )
    if (kept.length > 0) {
      output.note(
        `Outputs of ${counted(kept.length, 'session')} that may go on were not looked at: 'agent-context sessions end ID' lets one go`,
      )
    }
  })
  return undefined
}

const countOf = (reports: readonly ForgetReport[]): number =>
  reports.reduce((sum, { deletedFiles }) => sum + deletedFiles, 0)
const bytesOf = (reports: readonly ForgetReport[]): number =>
  reports.reduce((sum, { deletedBytes }) => sum + deletedBytes, 0)
