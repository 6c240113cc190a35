/**
 * Type test: `undefined` and `null` mean absent, as callers with `exactOptionalPropertyTypes` write it. Compiled by
 * `tsc --noEmit`, never run. `option-names.test.ts` holds it against every type of `index.d.ts`.
 */

import {
  ContextHistory,
  ContextManager,
  ContextStore,
  createToolRecorder,
  type NewStoreEntry,
  RepoMemory,
  type SearchOptions,
  type SliceOptions,
} from '../../dist/index.js'

interface Settings {
  readonly directory: string | undefined
  readonly threshold: number | null
  readonly limit: number | undefined
  readonly signal: AbortSignal | undefined
  readonly log: ((message: string) => void) | null
}

/** Settings that may be missing are passed on as they are. */
export async function passOn({ directory, threshold, limit, signal, log }: Settings): Promise<unknown[]> {
  const manager = new ContextManager({
    contextDir: directory,
    persistThreshold: threshold,
    retention: { maxAge: directory, maxFiles: threshold },
    redaction: { patterns: undefined, onRedaction: null },
    onDebug: log,
  })
  const history = new ContextHistory({ path: directory, lockTimeout: threshold, onDebug: log })
  const store = new ContextStore({ agent: 'tester', path: directory, config: { contextStore: { path: undefined } } })
  const memory = await RepoMemory.open({ workspace: '.', repoHash: null, root: directory, maxSummaries: threshold })
  const search: SearchOptions = { limit, signal, sessions: null, toolName: undefined }
  const slice: SliceOptions = { lines: { from: limit, to: threshold }, bytes: null, grep: undefined, signal }
  const entry: NewStoreEntry = { type: 'finding', slug: 'a', content: 'b', tags: undefined, links: null }
  createToolRecorder(new ContextManager(null), { history: undefined, taskId: null, onError: undefined })
  return [
    await manager.search('query', search),
    await manager.readContext('path', slice),
    await manager.saveContext('tool', {}, 1, null, undefined, { success: undefined, error: null }),
    await history.search({ toolName: null, limit, signal }),
    await store.search({ agent: undefined, limit, tags: { all: null, any: undefined } }),
    await store.write(entry),
    await memory.repoMap({ maxChars: limit, focus: null, signal }),
  ]
}

// @ts-expect-error what is needed may not be absent
new ContextStore({ agent: undefined })
// @ts-expect-error nor be null
void RepoMemory.open({ workspace: null })
