import { readFile } from 'node:fs/promises'

/** Reads a file. `undefined`: there is no such file; another process may have removed it. */
export async function contentIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return undefined
    }
    throw error
  }
}
