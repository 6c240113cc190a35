/** Another build of the addon, to compare redaction before and after a change. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import type { Redact } from './redaction-cases.ts'

export const BASELINE = 'baseline'
const SCRIPT = fileURLToPath(import.meta.url)

interface NativeRedactor {
  text(text: string): [text: string, findings: string] | null
}

interface Addon {
  readonly NativeRedactor: new () => NativeRedactor
}

/** Redaction by the addon in another file, with its built-in rules, in a separate process: one process cannot load two builds. */
export function loadBaseline(file: string): Redact {
  const child = fork(SCRIPT, [resolve(file)], { serialization: 'advanced', execArgv: process.execArgv })
  const ended = new Promise<never>((_, reject) => {
    child.once('exit', () => reject(new Error(`the process with ${file} ended: is it an addon?`)))
  })
  ended.catch(() => {})
  // Between texts the process does not keep this one alive.
  const hold = (isHeld: boolean): void => {
    for (const handle of [child, child.channel]) {
      isHeld ? handle?.ref() : handle?.unref()
    }
  }
  hold(false)
  return async (text) => {
    hold(true)
    const answer = once(child, 'message')
    child.send(text)
    const [redacted] = await Promise.race([answer, ended])
    hold(false)
    return redacted as string
  }
}

/** The same as a contender. */
export function baselineContenders(file: string | undefined): { name: string; redact: Redact }[] {
  return file === undefined ? [] : [{ name: BASELINE, redact: loadBaseline(file) }]
}

if (process.argv[1] === SCRIPT && process.send !== undefined) {
  const addon = createRequire(import.meta.url)(process.argv[2] ?? '') as Addon
  const redactor = new addon.NativeRedactor()
  process.on('message', (text: string) => process.send?.(redactor.text(text)?.[0] ?? text))
}
