/** Loads contexts: those in the memory cache synchronously, all others in one native operation. */

import type { NativeManager } from '#addon'
import { checkText } from '../arguments/checks.ts'
import { contextError, fromNative, inspect, invalidArgument } from '../arguments/errors.ts'
import type { TaskId } from '../arguments/types.ts'
import { debug, type Hooks, operate } from '../native/border.ts'
import { partsOf, withBytes } from './loaded-bytes.ts'
import type { StoredContext } from './types.ts'

/** Loads one context; rejects if it cannot be loaded. Not `async`: that would cost half as much as the rest. */
export function loadContext<T, Task extends TaskId>(
  hooks: Hooks,
  native: NativeManager,
  filepath: string,
): Promise<StoredContext<T, Task>> {
  try {
    checkText(filepath, 'filepath')
    const texts = native.peek(filepath)
    if (texts === null) {
      return loadStored(hooks, native, filepath)
    }
    const record = parseRecord<T, Task>(texts, filepath)
    return partsOf(record) === undefined ? Promise.resolve(record) : withBytes(hooks, native, filepath, record)
  } catch (error) {
    return Promise.reject(error)
  }
}

async function loadStored<T, Task extends TaskId>(
  hooks: Hooks,
  native: NativeManager,
  filepath: string,
): Promise<StoredContext<T, Task>> {
  const record = await operate(
    hooks,
    (operation) => native.load(operation, filepath),
    (_, texts) => parseRecord<T, Task>(texts, filepath),
  )
  return partsOf(record) === undefined ? record : withBytes(hooks, native, filepath, record)
}

/** Loads several contexts in their order; one that cannot be loaded is skipped and reported to `onDebug`. */
export async function loadContexts<Task extends TaskId>(
  hooks: Hooks,
  native: NativeManager,
  filepaths: readonly string[],
): Promise<StoredContext<unknown, Task>[]> {
  if (!Array.isArray(filepaths)) {
    throw invalidArgument('filepaths', 'an array of paths', filepaths)
  }
  const loaded = new Array<StoredContext<unknown, Task> | undefined>(filepaths.length)
  const missing: number[] = []
  for (const [index, filepath] of filepaths.entries()) {
    try {
      checkText(filepath, 'filepath')
      // The paths are passed as one text, separated by NUL characters.
      if (filepath.includes('\0')) {
        throw contextError('ERR_CONTEXT_NOT_FOUND', 'a path cannot contain NUL characters')
      }
      const texts = native.peek(filepath)
      if (texts === null) {
        missing.push(index)
      } else {
        loaded[index] = parseRecord(texts, filepath)
      }
    } catch (error) {
      reportUnloaded(hooks, filepath, error)
    }
  }
  if (missing.length > 0) {
    await loadMissing(hooks, native, filepaths, missing, loaded)
  }
  await Promise.all(
    loaded.map(async (record, index) => {
      const filepath = filepaths[index] as string
      try {
        if (record !== undefined && partsOf(record) !== undefined) {
          loaded[index] = await withBytes(hooks, native, filepath, record)
        }
      } catch (error) {
        loaded[index] = undefined
        reportUnloaded(hooks, filepath, error)
      }
    }),
  )
  return loaded.filter((context) => context !== undefined)
}

function loadMissing<Task extends TaskId>(
  hooks: Hooks,
  native: NativeManager,
  filepaths: readonly string[],
  missing: readonly number[],
  loaded: (StoredContext<unknown, Task> | undefined)[],
): Promise<void> {
  return operate(
    hooks,
    (operation) => native.loadAll(operation, missing.map((index) => filepaths[index]).join('\0')),
    (_, texts) => {
      let position = 0
      for (const index of missing) {
        const filepath = filepaths[index] as string
        const first = texts[position++] ?? ''
        try {
          if (first.startsWith('!')) {
            throw fromNative(first.slice(1), hooks.redaction?.redactor)
          }
          const parts = texts.slice(position, position + Number(first))
          position += parts.length
          loaded[index] = parseRecord(parts, filepath)
        } catch (error) {
          reportUnloaded(hooks, filepath, error)
        }
      }
    },
  )
}

function reportUnloaded(hooks: Hooks, filepath: unknown, error: unknown): void {
  const { code, message } = error as { code?: string; message?: string }
  const name = typeof filepath === 'string' ? filepath : inspect(filepath)
  debug(
    hooks,
    code === 'ERR_CONTEXT_NOT_FOUND' ? `Context file not found: ${name}` : `Failed to load context ${name}: ${message}`,
    { filepath, error },
  )
}

/** Parses a record from its JSON; if the result is a text, it is passed separately. */
function parseRecord<T, Task extends TaskId>(
  texts: string | readonly string[],
  filepath: string,
): StoredContext<T, Task> {
  let record: StoredContext<T, Task>
  try {
    record = JSON.parse(typeof texts === 'string' ? texts : (texts[0] ?? '')) as StoredContext<T, Task>
  } catch (cause) {
    throw contextError('ERR_CONTEXT_CORRUPT', `${filepath} could not be parsed; run the tool again`, cause)
  }
  if (typeof texts !== 'string' && texts.length > 1) {
    record.result = texts[1] as T
  }
  // Records of other programs may lack members that this package always writes.
  record.toolDescription ??= record.toolName
  record.args ??= {}
  return record
}
