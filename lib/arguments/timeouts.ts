/** Timeouts that several classes take. */

import { count } from './checks.ts'

const DEFAULT_FILE_SYSTEM_TIMEOUT = 10_000
const DEFAULT_CLOSE_TIMEOUT = 30_000

/** Checks the option `fileSystemTimeout`, in ms. */
export function checkFileSystemTimeout(value: number | null | undefined): number {
  return count(value, 'fileSystemTimeout', DEFAULT_FILE_SYSTEM_TIMEOUT)
}

/** Checks the option `closeTimeout`, in ms. */
export function checkCloseTimeout(value: number | null | undefined): number {
  return count(value, 'closeTimeout', DEFAULT_CLOSE_TIMEOUT)
}
