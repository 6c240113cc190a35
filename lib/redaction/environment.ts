/** Tracks the environment variables of this process whose values are secret. */

/** The methods of the native side that are used here. */
interface NamesAndValues {
  isSecretName(name: string): boolean
  setEnvironment(variables: string): void
}

/** More names than a real process has: beyond this, the cache of names is reset so that generated names cannot grow it without limit. */
const MAXIMUM_NAMES = 10_000
const NONE: readonly string[] = []

/** The cached names of all variables; cleared after the current run of synchronous code. */
let names: readonly string[] | undefined

/**
 * Lists the names of all variables, once per run of synchronous code, because listing takes longer than passing a small save to
 * the native side. Each run gets a new array.
 */
function variableNames(): readonly string[] {
  if (names === undefined) {
    names = readNames()
    queueMicrotask(() => {
      names = undefined
    })
  }
  return names
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
