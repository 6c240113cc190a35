/** Timeouts that several classes take. */

import { count } from './checks.ts'

const DEFAULT_FILE_SYSTEM_TIMEOUT = 10_000
const DEFAULT_CLOSE_TIMEOUT = 30_000

/** How long a call of an injected file system may take, in ms. */
export function checkFileSystemTimeout(value: number | null | undefined): number {
  return count(value, 'fileSystemTimeout', DEFAULT_FILE_SYSTEM_TIMEOUT)
}

/** How long `close()` waits for callers' functions, in ms. */
export function checkCloseTimeout(value: number | null | undefined): number {
  return count(value, 'closeTimeout', DEFAULT_CLOSE_TIMEOUT)
}
