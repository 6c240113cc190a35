/** Changes a configuration file atomically, and keeps a copy of its previous content. */

import { constants, type Stats } from 'node:fs'
import { copyFile, lstat, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Configuration } from './configurations.ts'

export interface FileChange {
  readonly file: string
  /** `undefined` where there is no file. */
  readonly before: string | undefined
  /** `undefined`: the file goes. */
  readonly after: string | undefined
}

const backupOf = (file: string): string => `${file}.agent-context.bak`

/** @throws Error for a symbolic link, and for what is not understood */
export async function planAddition({ file, add }: Configuration): Promise<FileChange> {
  const before = await read(file)
  return { file, before, after: edited(file, () => add(before ?? '')) }
}

/** Plans a removal. If the file was not changed otherwise, its previous content is restored byte for byte; a file that setup created is deleted. */
export async function planRemoval({ file, add, remove }: Configuration): Promise<FileChange> {
  const before = await read(file)
  if (before === undefined) {
    return { file, before, after: undefined }
  }
  const backup = await read(backupOf(file))
  if (backup !== undefined && edited(file, () => add(backup)) === before) {
    return { file, before, after: backup }
  }
  const isMadeHere = edited(file, () => add('')) === before
  return { file, before, after: isMadeHere ? undefined : edited(file, () => remove(before)) }
}

function edited(file: string, edit: () => string): string {
  try {
    return edit()
  } catch (error) {
    throw new Error(`${file} was not changed: ${(error as Error).message}`)
  }
}

export async function applyChange({ file, before, after }: FileChange): Promise<void> {
  if (before === after) {
    return
  }
  if (after === undefined) {
    await rm(file)
    return
  }
  await mkdir(dirname(file), { recursive: true })
  const backup = backupOf(file)
  if ((await read(backup)) === after) {
    await rm(backup)
  } else if (before !== undefined && (await read(backup)) === undefined) {
    await copyFile(file, backup, constants.COPYFILE_EXCL)
  }
  const found: Stats | undefined = await lstat(file).catch(() => undefined)
  const temporary = `${file}.${process.pid}.tmp`
  const handle = await open(temporary, 'wx', found === undefined ? 0o600 : found.mode & 0o777)
  try {
    await handle.writeFile(after)
    await handle.sync()
  } finally {
    await handle.close()
  }
  try {
    if ((await read(file)) !== before) {
      throw new Error(`${file} was changed by another program meanwhile: run this again`)
    }
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

async function read(file: string): Promise<string | undefined> {
  const found = await lstat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') {
      return undefined
    }
    throw error
  })
  if (found === undefined) {
    return undefined
  }
  if (!found.isFile()) {
    throw new Error(`${file} is a symbolic link or no file, and was not changed: add what --print shows yourself`)
  }
  const bytes = await readFile(file)
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
}
