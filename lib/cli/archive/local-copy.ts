/** Files for exports and imports of a database: a temporary directory, from which or to which files are copied. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CopyPlaces } from '../../index.ts'
import type { Invocation } from '../command-types.ts'
import { storageOf } from '../database.ts'
import { library } from '../places.ts'
import type { PlaceName } from './chosen-places.ts'

/** The same invocation on files. */
export interface LocalCopy extends AsyncDisposable {
  readonly invocation: Invocation
  /** The places in the directory and in the database. */
  places(chosen: readonly PlaceName[]): Promise<{ readonly files: CopyPlaces; readonly database: CopyPlaces }>
}

/** `undefined` if the invocation is on files anyway. */
export async function localCopy(invocation: Invocation): Promise<LocalCopy | undefined> {
  const { database, blobs, ...settings } = invocation.settings
  if (database === undefined) {
    return undefined
  }
  const folder = await mkdtemp(join(tmpdir(), 'agent-context-'))
  const files = {
    dir: join(folder, 'contexts'),
    history: join(folder, 'history.jsonl'),
    store: join(folder, 'store'),
    memory: join(folder, 'memory'),
  }
  return {
    invocation: { ...invocation, settings: { ...settings, ...files } },
    async places(chosen) {
      const { DEFAULT_CONTEXT_DIRECTORY, DEFAULT_CONTEXT_STORE, DEFAULT_HISTORY_PATH, DEFAULT_REPO_MEMORY_ROOT } =
        await library()
      const only = (name: PlaceName, path: string): string | undefined => (chosen.includes(name) ? path : undefined)
      const places = ({ dir, history, store, memory }: Partial<typeof files>): CopyPlaces => ({
        contextDir: only('contexts', dir ?? DEFAULT_CONTEXT_DIRECTORY),
        history: only('history', history ?? DEFAULT_HISTORY_PATH),
        store: only('store', store ?? DEFAULT_CONTEXT_STORE),
        memory: only('memory', memory ?? DEFAULT_REPO_MEMORY_ROOT),
      })
      return { files: places(files), database: { ...places(settings), ...storageOf({ database, blobs }) } }
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
