/** The environment variables of this process whose values are secret, as they are now. */

/** What of the native side is needed here. */
interface NamesAndValues {
  isSecretName(name: string): boolean
  setEnvironment(variables: string): void
}

/** More names than a process has: then somebody makes them up. */
const MAXIMUM_NAMES = 10_000
const NONE: readonly string[] = []

/** The names of all variables; forgotten when the code that runs now is through. */
let names: readonly string[] | undefined

/**
 * Listing them takes this thread longer than handing over a small save: it is done once per run of synchronous code. Every
 * run has an array of its own.
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
    // Without the permission to read them (Deno) nobody here can give them away.
    return [...NONE]
  }
}

/** Keeps the native side told of the variables that its rules take for secrets. */
export class SecretVariables {
  readonly #native: NamesAndValues
  readonly #isSecret = new Map<string, boolean>()
  #seen: readonly string[] = NONE
  #told = ''

  constructor(native: NamesAndValues) {
    this.#native = native
  }

  /** Reads the variables, unless that was done in this run of synchronous code, and tells what changed. */
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

/** A variable as it is now; empty when it is absent, or not to be read (Deno). */
export function environmentVariable(name: string): string {
  try {
    return process.env[name] ?? ''
  } catch {
    return ''
  }
}
