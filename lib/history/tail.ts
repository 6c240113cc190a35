/** Polls a history for new entries, at shorter intervals while entries arrive. */

import { setTimeout } from 'node:timers/promises'
import { checkText, checkWhole, optional, readSignal } from '../arguments/checks.ts'
import { contextError } from '../arguments/errors.ts'
import { tailOptions } from './option-names.ts'
import type { ContextEntry, TailOptions } from './types.ts'

/** Bounds of the pause between two polls, in ms: the pause doubles after each poll without new entries. */
const SHORTEST_PAUSE = 10
const LONGEST_PAUSE = 100

export interface CheckedTail {
  readonly last: number
  readonly after: string | undefined
  readonly signal: AbortSignal | undefined
}

export function checkTail(options: TailOptions | null | undefined): CheckedTail {
  const given = optional(options, 'options', tailOptions) ?? {}
  const last = optional(given.last, 'last', checkWhole)
  const after = given.after ?? undefined
  if (after !== undefined) {
    checkText(after, 'after')
  }
  if (last !== undefined && after !== undefined) {
    throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', 'last and after exclude each other')
  }
  return { last: last ?? 0, after, signal: readSignal(given) }
}

/** @param next returns the entries that were appended since its last call */
export async function* follow(
  next: () => Promise<ContextEntry[]>,
  signal: AbortSignal | undefined,
): AsyncGenerator<ContextEntry, void, undefined> {
  for (let pause = SHORTEST_PAUSE; ; ) {
    const entries = await next()
    yield* entries
    if (entries.length > 0) {
      pause = SHORTEST_PAUSE
      continue
    }
    await setTimeout(pause, undefined, signal === undefined ? {} : { signal })
    pause = Math.min(pause * 2, LONGEST_PAUSE)
  }
}
