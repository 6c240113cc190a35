/** Compiled redaction rules. Records are redacted on the native side, off the JavaScript thread; this class redacts only short texts on it. */

import { NativeRedactor } from '#addon'
import { SecretVariables } from './environment.ts'

export class Redactor {
  readonly native: NativeRedactor
  readonly #variables: SecretVariables | undefined

  constructor(native: NativeRedactor, readsEnvironment: boolean) {
    this.native = native
    this.#variables = readsEnvironment ? new SecretVariables(native) : undefined
  }

  /** Reads the secret environment variables again. Called before a record is passed to the native side. */
  refresh(): void {
    this.#variables?.refresh()
  }

  /**
   * A search text in its stored form, that is, redacted. A text that cannot be redacted is searched for unchanged: no stored
   * record contains it.
   */
  asStored(text: string): string {
    try {
      this.refresh()
      return this.native.text(text)?.[0] ?? text
    } catch {
      return text
    }
  }

  /** Redacts a text for a message. */
  quote(text: string): string {
    try {
      this.refresh()
      return this.native.text(text)?.[0] ?? text
    } catch {
      return '[a text that could not be redacted]'
    }
  }
}

let standard: Redactor | undefined

/** The rules with default options. Compiled when they are first needed. */
export function standardRedactor(): Redactor {
  standard ??= new Redactor(new NativeRedactor(undefined), true)
  return standard
}
