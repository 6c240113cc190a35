#!/usr/bin/env node
/** The program `agent-context`. Loads nothing but itself until it is known what to do. */

import { createRequire } from 'node:module'

declare const PACKAGE_VERSION: string

const NEEDED = [20, 19] as const
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const words = process.argv.slice(2)
const [first] = words

if ((first === '--version' || first === '-V') && process.argv.length === 3) {
  process.stdout.write(`${PACKAGE_VERSION}\n`)
} else if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  process.stderr.write(
    `agent-context: needs Node.js ${NEEDED.join('.')} or newer, and this is ${process.versions.node}. Install a newer one from https://nodejs.org\n`,
  )
  process.exitCode = 2
} else if (first !== 'hook' || !(await answeredAsHook())) {
  const { runProgram } = await import('./program.ts')
  await runProgram(words, PACKAGE_VERSION)
}

/** Loads `hook-process` with `require`: in Node 22, importing CommonJS takes 15 ms longer. */
function answeredAsHook(): Promise<boolean> {
  const { answerHook } = createRequire(import.meta.url)('./hook.cjs') as typeof import('./hook-process.ts')
  return answerHook(words)
}
