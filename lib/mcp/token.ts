/** The token of the server over HTTP: 256 random bits in a file that only its owner can read. */

import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'

const TOKEN = /^[0-9a-f]{64}$/
/** No symbolic link is followed: it could lead to a file of another program. */
const NO_LINKS = constants.O_NOFOLLOW ?? 0

/** Reads the token, or makes one where there is no file. */
export async function tokenIn(file: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  try {
    const handle = await open(file, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | NO_LINKS, 0o600)
    try {
      const token = randomBytes(32).toString('hex')
      await handle.writeFile(`${token}\n`)
      await handle.sync()
      return token
    } finally {
      await handle.close()
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw error
    }
  }
  const handle = await open(file, constants.O_RDONLY | NO_LINKS)
  try {
    const { mode, uid } = await handle.stat()
    const isPrivate = process.platform === 'win32' || ((mode & 0o077) === 0 && uid === process.getuid?.())
    const token = (await handle.readFile('utf8')).trim()
    if (!isPrivate) {
      throw new Error(`${file} can be read by other users: remove it, and the next start makes another`)
    }
    if (!TOKEN.test(token)) {
      throw new Error(`${file} holds no token of 64 hexadecimal digits: remove it, and the next start makes one`)
    }
    return token
  } finally {
    await handle.close()
  }
}
