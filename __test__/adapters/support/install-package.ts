/** Puts the built package where an application has it, so that adapters find the frameworks beside it. */

import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const installed = fileURLToPath(new URL('../node_modules/agent-context', import.meta.url))

export default function installPackage(): void {
  installInto(installed)
}

export function installInto(installed: string): void {
  rmSync(installed, { recursive: true, force: true })
  mkdirSync(installed, { recursive: true })
  for (const name of ['dist', 'index.d.ts', 'native.cjs', 'package.json']) {
    cpSync(join(root, name), join(installed, name), { recursive: true })
  }
  for (const name of readdirSync(root).filter((name) => name.endsWith('.node'))) {
    symlinkSync(join(root, name), join(installed, name))
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  installPackage()
}
