/** Tracks the environment variables of this process whose values are secret. */

import { isMainThread } from 'node:worker_threads'
import { environmentVersion } from '#addon'
import { sendNow } from '../native/border.ts'

/** The methods of the native side that are used here. */
interface NamesAndValues {
  isSecretName(name: string): boolean
  setEnvironment(variables: string): void
}

/** More names than a real process has: beyond this, the cache of names is reset so that generated names cannot grow it without limit. */
const MAXIMUM_NAMES = 10_000
const NONE: readonly string[] = []

const NOW = Promise.resolve()

/** The names of all variables, listed last. */
let names: readonly string[] = NONE
/** Whether `names` was checked in the current run of synchronous code. */
let isChecked = false
/** The version of the environment in which `names` was listed. */
let version: number | null = null
/** The environment that `isOfProcess` examined last, and its answer. */
let examined: unknown
let isExaminedOfProcess = false

/**
 * Lists the names of all variables if one may have changed since the last run of synchronous code, because listing takes longer
 * than a small save. Each list is a new array.
 */
function variableNames(): readonly string[] {
  if (!isChecked) {
    isChecked = true
    NOW.then(forget)
    const current = isOfProcess(process.env) ? environmentVersion() : null
    if (current === null || current !== version) {
      names = readNames()
      version = current
    }
  }
  return names
}

function forget(): void {
  isChecked = false
}

/**
 * Whether changes of `process.env` are changes of the process's environment, which the native side compares. They are not in a
 * worker thread, which has a copy, on Bun, and where a program or test runner has replaced the object.
 */
function isOfProcess(environment: object): boolean {
  if (environment !== examined) {
    examined = environment
    const { bun, deno } = process.versions
    isExaminedOfProcess = isMainThread && bun === undefined && (deno !== undefined || refusesAccessors(environment))
  }
  return isExaminedOfProcess
}

/** Whether an object refuses accessors, as the environment of Node does and plain objects do not. */
function refusesAccessors(environment: object): boolean {
  const probe = 'AGENT_CONTEXT_PROBE'
  try {
    Object.defineProperty(environment, probe, { get: () => '', configurable: true })
    Reflect.deleteProperty(environment, probe)
    return false
  } catch (error) {
    return (error as { code?: unknown }).code === 'ERR_INVALID_OBJECT_DEFINE_PROPERTY'
  }
}

function readNames(): readonly string[] {
  try {
    return Reflect.ownKeys(process.env).filter((name) => typeof name === 'string')
  } catch {
    // On Deno without permission to read the environment, no code of this process can leak its variables.
    return [...NONE]
  }
}

/** Sends to the native side the values of the variables whose names its rules consider secret. */
export class SecretVariables {
  readonly #native: NamesAndValues
  readonly #isSecret = new Map<string, boolean>()
  #seen: readonly string[] = NONE
  #told = ''

  constructor(native: NamesAndValues) {
    this.#native = native
  }

  /** Reads the variables, unless this was already done in the current run of synchronous code, and sends changed values to the native side. */
  refresh(): void {
    const current = variableNames()
    if (current === this.#seen) {
      return
    }
    this.#seen = current
    let variables = ''
    for (const name of current) {
      if (this.#isSecretName(name)) {
        variables += `${name}\0${environmentVariable(name)}\0`
      }
    }
    if (variables !== this.#told) {
      // The calls that wait were made with the values before.
      sendNow()
      this.#native.setEnvironment(variables)
      this.#told = variables
    }
  }

  #isSecretName(name: string): boolean {
    let isSecret = this.#isSecret.get(name)
    if (isSecret === undefined) {
      if (this.#isSecret.size >= MAXIMUM_NAMES) {
        this.#isSecret.clear()
      }
      isSecret = this.#native.isSecretName(name)
      this.#isSecret.set(name, isSecret)
    }
    return isSecret
  }
}

/** The current value of a variable; empty if it is absent or if Deno denies access. */
export function environmentVariable(name: string): string {
  try {
    return process.env[name] ?? ''
  } catch {
    return ''
  }
}
