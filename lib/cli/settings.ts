/** Resolves settings from options, environment variables and `.agent-context.json`, in this order. */

import { closeSync, existsSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { nearestName } from '../arguments/nearest-name.ts'
import { EXIT } from './command-types.ts'
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

export function resolveSettings(options: OptionValues, environment: NodeJS.ProcessEnv, folder: string): Settings {
  const file = settingsFileFor(folder)
  const fromFile = file === undefined ? {} : readSettings(file)
  const settings: Partial<Record<SettingName, string>> = {}
  for (const name of SETTING_NAMES) {
    const value = options[name] ?? (environment[VARIABLES[name]] || undefined) ?? fromFile[name]
    if (value !== undefined) {
      settings[name] = value
    }
  }
  return {
    ...settings,
    given: new Set(SETTING_NAMES.filter((name) => options[name] !== undefined)),
    ...(file === undefined ? {} : { file }),
  }
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

function readSettings(file: string): Partial<Record<SettingName, string>> {
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
  const settings: Partial<Record<SettingName, string>> = {}
  for (const [name, text] of Object.entries(value)) {
    if (!SETTING_NAMES.includes(name as SettingName)) {
      const nearest = nearestName(name, SETTING_NAMES)
      throw new CliError(
        `${file}: unknown member '${name}'${nearest === undefined ? '' : `: did you mean '${nearest}'?`}`,
        EXIT.usage,
      )
    }
    if (typeof text !== 'string' || text === '') {
      throw new CliError(`${file}: '${name}' has to be a non-empty string`, EXIT.usage)
    }
    settings[name as SettingName] = name === 'agent' ? text : absolute(text, dirname(file))
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
