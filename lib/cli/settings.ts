/** Resolves settings from options, environment variables and `.agent-context.json`, in this order. */

import { closeSync, existsSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { nearestName } from '../arguments/nearest-name.ts'
import { EXIT } from './command-types.ts'
import { BLOBS_VARIABLE, type DatabaseSetting, databaseOfFile, databaseOfOption, STORAGE_VARIABLE } from './database.ts'
import { CliError } from './failures.ts'
import type { OptionValues } from './options.ts'

export const SETTINGS_FILE = '.agent-context.json'

/** Settings; absent ones have the library's defaults. */
export interface Settings {
  readonly dir?: string
  readonly history?: string
  readonly store?: string
  readonly state?: string
  readonly agent?: string
  readonly workspace?: string
  readonly memory?: string
  /** Where everything is stored, in place of files. The others, except `agent` and `workspace`, are then namespaces. */
  readonly database?: DatabaseSetting
  /** The bucket beside the database. A settings file cannot name one: a repository must not decide where outputs are sent. */
  readonly blobs?: string
  /** Which of them options on the command line set. */
  readonly given: ReadonlySet<SettingName>
  /** The file that was read. */
  readonly file?: string
}

export type SettingName = 'dir' | 'history' | 'store' | 'state' | 'agent' | 'workspace' | 'memory'

const VARIABLES: Readonly<Record<SettingName, string>> = {
  dir: 'AGENT_CONTEXT_DIR',
  history: 'AGENT_CONTEXT_HISTORY',
  store: 'SFA_CONTEXT_STORE',
  state: 'AGENT_CONTEXT_STATE',
  agent: 'AGENT_CONTEXT_AGENT',
  workspace: 'AGENT_CONTEXT_WORKSPACE',
  memory: 'AGENT_CONTEXT_MEMORY',
}
export const SETTING_NAMES = Object.keys(VARIABLES) as readonly SettingName[]
/** The members of the file. */
const MEMBERS: readonly string[] = [...SETTING_NAMES, 'storage']

export function resolveSettings(options: OptionValues, environment: NodeJS.ProcessEnv, folder: string): Settings {
  const file = settingsFileFor(folder)
  const fromFile: FileSettings = file === undefined ? {} : readSettings(file)
  const database = databaseOf(options, environment, file, fromFile)
  const isCopy = options.from !== undefined || options.to !== undefined
  if (options.blobs !== undefined && database === undefined && !isCopy) {
    throw new CliError('--blobs is a bucket beside a database: add --storage URL', EXIT.usage)
  }
  const blobs = options.blobs ?? (environment[BLOBS_VARIABLE] || undefined)
  const settings: Partial<Record<SettingName, string>> = {}
  for (const name of SETTING_NAMES) {
    const text = fromFile[name]
    const isPath = name === 'workspace' || (name !== 'agent' && database === undefined)
    const ofFile = text === undefined || file === undefined || !isPath ? text : absolute(text, dirname(file))
    const value = options[name] ?? (environment[VARIABLES[name]] || undefined) ?? ofFile
    if (value !== undefined) {
      settings[name] = value
    }
  }
  return {
    ...settings,
    ...(database === undefined ? {} : { database }),
    ...(blobs === undefined ? {} : { blobs }),
    given: new Set(SETTING_NAMES.filter((name) => options[name] !== undefined)),
    ...(file === undefined ? {} : { file }),
  }
}

function databaseOf(
  { storage }: OptionValues,
  environment: NodeJS.ProcessEnv,
  file: string | undefined,
  fromFile: FileSettings,
): DatabaseSetting | undefined {
  if (storage !== undefined) {
    return databaseOfOption(storage, '--storage')
  }
  const url = environment[STORAGE_VARIABLE] || undefined
  if (url !== undefined) {
    return { url, isFromFile: false }
  }
  return fromFile.storage === undefined || file === undefined ? undefined : databaseOfFile(fromFile.storage, file)
}

/** The nearest one from the working directory up to the root of its repository. */
function settingsFileFor(folder: string): string | undefined {
  for (let place = folder; ; place = dirname(place)) {
    const file = join(place, SETTINGS_FILE)
    if (existsSync(file)) {
      return file
    }
    if (existsSync(join(place, '.git')) || place === dirname(place) || place === homedir()) {
      return undefined
    }
  }
}

type FileSettings = Partial<Record<SettingName | 'storage', string>>

function readSettings(file: string): FileSettings {
  let value: unknown
  const descriptor = openSync(file, 'r')
  try {
    refuseOtherOwner(file, fstatSync(descriptor).uid)
    value = JSON.parse(readFileSync(descriptor, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new CliError(`${file} is no JSON: ${error.message}`, EXIT.usage)
    }
    throw error
  } finally {
    closeSync(descriptor)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new CliError(`${file} holds no JSON object`, EXIT.usage)
  }
  const settings: FileSettings = {}
  for (const [name, text] of Object.entries(value)) {
    if (!MEMBERS.includes(name)) {
      const nearest = nearestName(name, MEMBERS)
      throw new CliError(
        `${file}: unknown member '${name}'${nearest === undefined ? '' : `: did you mean '${nearest}'?`}`,
        EXIT.usage,
      )
    }
    if (typeof text !== 'string' || text === '') {
      throw new CliError(`${file}: '${name}' has to be a non-empty string`, EXIT.usage)
    }
    settings[name as keyof FileSettings] = text
  }
  return settings
}

/** Another user could redirect what is stored to a directory of theirs. */
function refuseOtherOwner(file: string, owner: number): void {
  const user = process.getuid?.()
  if (user !== undefined && owner !== user && owner !== 0) {
    throw new CliError(
      `${file} belongs to another user and is not read; run in another folder, or own it`,
      EXIT.refused,
    )
  }
}

const absolute = (path: string, folder: string): string =>
  isAbsolute(path) || path.startsWith('~') ? path : resolve(folder, path)
