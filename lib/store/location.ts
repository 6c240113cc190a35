/** Where a context store is, and what an agent's and a session's directory in it may be called. */

import { sep } from 'node:path'
import { directoryFault, newUuid } from '#addon'
import { checkObject, checkPath, checkText, optional } from '../arguments/checks.ts'
import { contextError, inspect } from '../arguments/errors.ts'
import { resolveDirectory } from '../native/file-system.ts'
import type { IFileSystem } from '../native/types.ts'
import { environmentVariable } from '../redaction/environment.ts'
import { type Redacting, refuseSecret } from '../redaction/redaction.ts'
import type { ContextStoreConfig } from './types.ts'

export const DEFAULT_CONTEXT_STORE = '~/.local/share/single-file-agents/context'
const PATH_VARIABLE = 'SFA_CONTEXT_STORE'
const SESSION_VARIABLE = 'SFA_SESSION_ID'

/** A session, and whether its entries have a directory of their own. */
export interface StoreSession {
  sessionId: string
  inSession: boolean
}

/** A store's directory, absolute, and what the paths in it begin with. */
export interface StoreDirectory {
  directory: string
  prefix: string
}

/**
 * The store's directory: as it is given, or else the environment's, the configuration's, the default one.
 *
 * @param given wins over everything else
 */
export function storeDirectory(
  config: ContextStoreConfig | null | undefined,
  given?: string,
  fileSystem?: IFileSystem,
): StoreDirectory {
  const configured = configuredPath(config)
  const choices: readonly [name: string, path: string | undefined][] = [
    ['path', given],
    [PATH_VARIABLE, environmentVariable(PATH_VARIABLE) || undefined],
    ['config.contextStore.path', configured],
  ]
  const [name, path] = choices.find(([, path]) => path !== undefined) ?? []
  const place = checkPath(path ?? DEFAULT_CONTEXT_STORE, name ?? 'path')
  const { directory } = resolveDirectory(place, name ?? 'path', fileSystem)
  // Paths below it are joined here, also those of injected file systems.
  return { directory, prefix: directory.endsWith(sep) ? directory : directory + sep }
}

/** Checked whether it counts or not: what is wrong in it should not wait for another environment. */
function configuredPath(config: ContextStoreConfig | null | undefined): string | undefined {
  const store = optional(optional(config, 'config', checkObject)?.contextStore, 'config.contextStore', checkObject)
  const path = store?.path ?? undefined
  if (path === undefined || path === '') {
    return undefined
  }
  return checkPath(path, 'config.contextStore.path')
}

/** The session that is given, or else the environment's, or else a fresh one. */
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

/** A name that every system takes for a directory, and that may be seen there. */
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
