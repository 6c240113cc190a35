/** The frame of every command: help, and failures as one line. */

import process from 'node:process'
import { firstLine } from './peer-packages.ts'

/** Runs a command with the arguments after its name. */
export async function runCommand(
  name: string,
  usage: string,
  main: (parameters: string[]) => Promise<void>,
): Promise<void> {
  const parameters = process.argv.slice(2)
  if (parameters.includes('--help')) {
    process.stdout.write(`${usage}\n`)
    return
  }
  try {
    await main(parameters)
  } catch (error) {
    process.stderr.write(`${name}: ${error instanceof Error ? error.message : firstLine(error)}\n`)
    process.exitCode = 1
  }
}
