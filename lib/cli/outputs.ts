/** What commands on outputs share: which one is meant, and how it is listed. */

import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { ContextManager, ContextPointer, RedactionFinding, TaskId } from '../index.ts'
import { EXIT, type Invocation } from './command-types.ts'
import { CliError } from './failures.ts'
import type { Output } from './output/output.ts'
import type { Column } from './output/table.ts'
import { formatBytes, formatTime, parseTime } from './output/units.ts'

export type Pointer = ContextPointer<TaskId>

/**
 * A handle goes to the library, which finds it in any session, or with `--session` to the latest output that this one has
 * behind it; a name is one of the directory; anything else is a path.
 */
export async function locateOutput(
  manager: ContextManager,
  given: string,
  { options, settings, signal }: Invocation,
): Promise<string> {
  if (/^ctx_[0-9a-f]+$/.test(given)) {
    return options.session === undefined ? given : pathInSession(manager, given, options.session, signal)
  }
  if (settings.database !== undefined) {
    return /[/\\]/.test(given) ? given : `${manager.getContextDir()}/${given}`
  }
  const isName = !/[/\\]/.test(given) && !existsSync(given)
  return isName ? join(manager.getContextDir(), given) : resolve(given)
}

async function pathInSession(
  manager: ContextManager,
  handle: string,
  session: string,
  signal: AbortSignal,
): Promise<string> {
  const pointers = await manager.listContexts(session, { signal })
  const found = pointers.findLast((pointer) => pointer.handle === handle)
  if (found === undefined) {
    throw new CliError(
      `session '${session}' has no output ${handle}; without --session every session is looked at`,
      EXIT.notFound,
    )
  }
  return found.filepath
}

/** What `show`, `read` and `forget` take, short where there is a handle. */
export const identifierOf = ({ handle, filename }: Pointer): string => handle ?? filename

/** The pointers that meet the options `session`, `tool`, `since`, `until` and `failed`, newest first. */
export async function selectPointers({ options, signal }: Invocation, manager: ContextManager): Promise<Pointer[]> {
  const since = timeOf(options.since)
  const until = timeOf(options.until)
  const pointers: Pointer[] = await manager.listContexts(options.session, { signal })
  return pointers
    .filter(
      (pointer) =>
        (options.tool === undefined || options.tool.includes(pointer.toolName)) &&
        (since === undefined || pointer.timestamp >= since) &&
        (until === undefined || pointer.timestamp <= until) &&
        (options.failed !== true || pointer.success === false),
    )
    .reverse()
}

/** The findings as text: `3 github-token, 1 assignment`. */
export const findingsText = (findings: readonly RedactionFinding[]): string =>
  findings.map(({ rule, count }) => `${count} ${rule}`).join(', ')

/** A point in time, in ms since 1970. */
export function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) {
    return undefined
  }
  const time = parseTime(text, Date.now())
  if (Number.isNaN(time)) {
    throw new CliError(`'${text}' is no time: write 2026-11-01, 2026-11-01T09:30 or an age such as 2h`, EXIT.usage)
  }
  return time
}

export function pointerColumns(output: Output): readonly Column<Pointer>[] {
  return [
    { title: 'ID', cell: identifierOf, style: (text, _, style) => style.cyan(text) },
    { title: 'TIME', cell: ({ timestamp }) => formatTime(timestamp, output.isTerminal) },
    {
      title: 'SIZE',
      cell: ({ sizeBytes }) => (output.isTerminal ? formatBytes(sizeBytes) : String(sizeBytes)),
      align: 'right',
    },
    {
      title: 'OK',
      cell: ({ success }) => (success === undefined ? '-' : success ? 'yes' : 'no'),
      style: (text, { success }, style) => (success === false ? style.red(text) : text),
    },
    { title: 'TOOL', cell: ({ toolName }) => toolName },
    { title: 'DESCRIPTION', cell: ({ toolDescription }) => toolDescription, isFlexible: true },
  ]
}
