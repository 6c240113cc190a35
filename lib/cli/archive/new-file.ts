/** Writes a new file atomically, with access for the owner only; never replaces an existing one. */

import { randomBytes } from 'node:crypto'
import { link, lstat, mkdir, open, rename, unlink } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { EXIT } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { contentIfThere } from './content-if-there.ts'

/** `same`: the file is there with this content; `different`: with another one. */
export type Written = 'written' | 'same' | 'different'

/** @param root what is above it may be reached through symbolic links, what is below it may not */
export async function writeNewFile(
  root: string,
  path: string,
  content: string | Uint8Array,
  isDryRun: boolean,
): Promise<Written> {
  const bytes = Buffer.from(content)
  const there = await contentIfThere(path)
  if (there !== undefined) {
    return there.equals(bytes) ? 'same' : 'different'
  }
  if (isDryRun) {
    return 'written'
  }
  const folder = dirname(path)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await refuseLinks(root, folder)
  const temporary = join(folder, `.${randomBytes(8).toString('hex')}.import.tmp`)
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
    await file.close()
    await link(temporary, path).catch((error: NodeJS.ErrnoException) =>
      // File systems without hard links.
      error.code === 'EEXIST' ? Promise.reject(error) : rename(temporary, path),
    )
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      return (await contentIfThere(path))?.equals(bytes) === true ? 'same' : 'different'
    }
    throw error
  } finally {
    await file.close().catch(() => undefined)
    await unlink(temporary).catch(() => undefined)
  }
  return 'written'
}

async function refuseLinks(root: string, folder: string): Promise<void> {
  let place = root
  for (const part of relative(root, folder).split(sep).filter(Boolean)) {
    place = join(place, part)
    if ((await lstat(place)).isSymbolicLink()) {
      throw new CliError(`${place} is a symbolic link; nothing is imported through it`, EXIT.refused)
    }
  }
}
