/** Opens the objects that a command works on, with the library's classes. */

import { homedir } from 'node:os'
import type {
  ContextHistory,
  ContextManager,
  ContextManagerOptions,
  ContextStore,
  RepoMemory,
  StateStore,
} from '../index.ts'
import { EXIT, type Invocation } from './command-types.ts'
import { databaseName, storageOf } from './database.ts'
import { CliError } from './failures.ts'
import { visibleLine } from './output/visible-text.ts'

/** The library is loaded by the first command that needs it, the addon with it. */
export const library = (): Promise<typeof import('../index.ts')> => import('../index.ts')

type Place = Pick<Invocation, 'settings' | 'options'>

/** For entries that the command line writes, unless `--agent` or the settings say who does. */
const READING_AGENT = 'agent-context'

function reporting({ options }: Place): { onDebug?: (message: string) => void } {
  return options.verbose === true ? { onDebug: (message) => process.stderr.write(`${visibleLine(message)}\n`) } : {}
}

export async function openManager(place: Place, options: ContextManagerOptions = {}): Promise<ContextManager> {
  const { ContextManager } = await library()
  return new ContextManager({
    contextDir: place.settings.dir,
    ...storageOf(place.settings),
    ...reporting(place),
    ...options,
  })
}

export async function openHistory(place: Place): Promise<ContextHistory> {
  const { ContextHistory } = await library()
  return new ContextHistory({
    path: place.settings.history,
    ...storageOf(place.settings),
    ...reporting(place),
  })
}

/** For reading: who reads does not matter. */
export async function openStore(place: Place): Promise<ContextStore> {
  const { ContextStore } = await library()
  return new ContextStore({
    agent: place.settings.agent ?? READING_AGENT,
    path: place.settings.store,
    sessionId: place.options.session,
    ...storageOf(place.settings),
    ...reporting(place),
  })
}

export async function openStoreForWriting(place: Place): Promise<ContextStore> {
  if (place.settings.agent === undefined) {
    throw new CliError('an entry says who wrote it: add --agent NAME, or set AGENT_CONTEXT_AGENT', EXIT.usage)
  }
  return openStore(place)
}

export async function openState(place: Place): Promise<StateStore> {
  const { StateStore } = await library()
  return new StateStore({ path: place.settings.state, ...storageOf(place.settings), ...reporting(place) })
}

export async function openMemory(place: Place): Promise<RepoMemory> {
  const { RepoMemory } = await library()
  return RepoMemory.open({
    workspace: place.settings.workspace ?? '.',
    root: place.settings.memory,
    branchScope: place.options.branchScope,
    ...storageOf(place.settings),
    ...reporting(place),
  })
}

/** A place for messages: a path, or a name in the database. */
export function placeText(path: string, { settings: { database } }: Pick<Invocation, 'settings'>): string {
  return database === undefined ? shortPath(path) : `${path} of ${databaseName(database.url)}`
}

/** Refuses a command that works on files only. */
export function refuseDatabase({ settings, row }: Pick<Invocation, 'settings' | 'row'>, reason: string): void {
  if (settings.database !== undefined) {
    throw new CliError(
      `'agent-context ${row.name}' works on files, not on a database: ${reason}`,
      EXIT.refused,
      'ERR_CONTEXT_UNSUPPORTED',
    )
  }
}

/** `~` in place of the home directory, for messages. */
export function shortPath(path: string): string {
  const home = homedir()
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
