/** `hook.log`: records why a hook did nothing, one line each. At 1 MB the file is renamed, which replaces the previous one. */

import { appendFile, lstat, mkdir, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

const MOST_BYTES = 1024 * 1024
const LONGEST_LINE = 2000

/** Never rejects: a hook has no other place to report to. */
export async function logFailure(file: string, message: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    const found = await lstat(file).catch(() => undefined)
    if (found !== undefined && !found.isFile()) {
      return
    }
    if (found !== undefined && found.size >= MOST_BYTES) {
      await rename(file, `${file}.1`)
    }
    const line = message.replace(/\s+/g, ' ').slice(0, LONGEST_LINE)
    await appendFile(file, `${new Date().toISOString()} ${line}\n`, { mode: 0o600 })
  } catch {
    // A failure to write the log must not stop the agent.
  }
}
