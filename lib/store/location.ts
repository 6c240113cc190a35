/** Resolves the directory of a context store, and checks the names of the agents' and sessions' directories in it. */

import { sep } from 'node:path'
import { directoryFault, newUuid } from '#addon'
import { checkObject, checkPath, checkText, optional } from '../arguments/checks.ts'
import { contextError, inspect } from '../arguments/errors.ts'
import { resolveDirectory } from '../native/file-system.ts'
import type { IFileSystem } from '../native/types.ts'
import { environmentVariable } from '../redaction/environment.ts'
import { type Redacting, refuseSecret } from '../redaction/redaction.ts'
import { namespaceDirectory, type Storage } from '../storage/storage.ts'
import type { ContextStoreConfig } from './types.ts'

export const DEFAULT_CONTEXT_STORE = '~/.local/share/single-file-agents/context'
const PATH_VARIABLE = 'SFA_CONTEXT_STORE'
const SESSION_VARIABLE = 'SFA_SESSION_ID'

/** The id of a session, and whether its entries are in a directory with this name. */
export interface StoreSession {
  sessionId: string
  inSession: boolean
}

/** The absolute path of a store's directory, and the same path with a separator at its end. */
export interface StoreDirectory {
  directory: string
  prefix: string
}

/**
 * Resolves the store's directory: the one given, otherwise that of the environment, of the configuration, or the default one.
 *
 * @param given the option `path`
 */
export function storeDirectory(
  config: ContextStoreConfig | null | undefined,
  given?: string,
  fileSystem?: IFileSystem,
  storage?: Storage,
): StoreDirectory {
  const configured = configuredPath(config)
  const choices: readonly [name: string, path: string | undefined][] = [
    ['path', given],
    [PATH_VARIABLE, environmentVariable(PATH_VARIABLE) || undefined],
    ['config.contextStore.path', configured],
  ]
  const [name, path] = choices.find(([, path]) => path !== undefined) ?? []
  const place = checkPath(path ?? DEFAULT_CONTEXT_STORE, name ?? 'path')
  if (storage !== undefined) {
    return namespaceDirectory(place, name ?? 'path')
  }
  const { directory } = resolveDirectory(place, name ?? 'path', fileSystem)
  // The prefix is concatenated with relative paths here, also for injected file systems.
  return { directory, prefix: directory.endsWith(sep) ? directory : directory + sep }
}

/** Checks the path in the configuration, even if another source overrides it, so that an invalid value is reported in every environment. */
function configuredPath(config: ContextStoreConfig | null | undefined): string | undefined {
  const store = optional(optional(config, 'config', checkObject)?.contextStore, 'config.contextStore', checkObject)
  const path = store?.path ?? undefined
  if (path === undefined || path === '') {
    return undefined
  }
  return checkPath(path, 'config.contextStore.path')
}

/** The session that was given, otherwise that of the environment, otherwise a new one. */
export function storeSession(given: string | null | undefined, redaction: Redacting | undefined): StoreSession {
  const named = optional(given, 'sessionId', (value, name) => checkDirectoryName(value, name, redaction))
  if (named !== undefined) {
    return { sessionId: named, inSession: true }
  }
  const fromEnvironment = environmentVariable(SESSION_VARIABLE)
  if (fromEnvironment !== '') {
    const name = `the environment variable ${SESSION_VARIABLE}`
    return { sessionId: checkDirectoryName(fromEnvironment, name, redaction), inSession: true }
  }
  return { sessionId: newUuid(), inSession: false }
}

/** Checks that a name is valid for a directory on every operating system and contains no secret. */
export function checkDirectoryName(value: string, name: string, redaction: Redacting | undefined): string {
  checkText(value, name)
  const fault = value.isWellFormed() ? directoryFault(value) : 'must not have halves of characters'
  if (fault !== null) {
    throw contextError(
      'ERR_CONTEXT_INVALID_ARGUMENT',
      `${name} names a directory and ${fault}: it is ${inspect(value)}`,
    )
  }
  refuseSecret(redaction, value, name)
  return value
}
