/** Compiled rules of redaction. What is stored is redacted natively, off this thread; here only short texts are. */

import { NativeRedactor } from '#addon'
import { SecretVariables } from './environment.ts'

export class Redactor {
  readonly native: NativeRedactor
  readonly #variables: SecretVariables | undefined

  constructor(native: NativeRedactor, readsEnvironment: boolean) {
    this.native = native
    this.#variables = readsEnvironment ? new SecretVariables(native) : undefined
  }

  /** From here on the environment's secrets are those of now. Called before anything is handed over to be stored. */
  refresh(): void {
    this.#variables?.refresh()
  }

  /** A short text that is looked for, as it would be stored. What cannot be redacted was not stored either. */
  asStored(text: string): string {
    try {
      this.refresh()
      return this.native.text(text)?.[0] ?? text
    } catch {
      return text
    }
  }

  /** A text for a message. */
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

/** The rules without any options. Made when they are first needed. */
export function standardRedactor(): Redactor {
  standard ??= new Redactor(new NativeRedactor(undefined), true)
  return standard
}
