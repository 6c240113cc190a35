/** The local disk as an injected file system: what works on files passes through the bridge, and tests find it on disk. */

import { promises } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import type { IFileSystem } from '../../dist/index.js'

export class DiskFileSystem implements IFileSystem {
  readFile(path: string): Promise<string> {
    return promises.readFile(path, 'utf8')
  }

  writeFile(path: string, content: string): Promise<void> {
    return promises.writeFile(path, content)
  }

  exists(path: string): Promise<boolean> {
    return promises.access(path).then(
      () => true,
      () => false,
    )
  }

  async mkdir(path: string): Promise<void> {
    await promises.mkdir(path, { recursive: true })
  }

  chmod(path: string, mode: number): Promise<void> {
    return promises.chmod(path, mode)
  }

  unlink(path: string): Promise<void> {
    return promises.unlink(path)
  }

  readdir(path: string): Promise<string[]> {
    return promises.readdir(path)
  }

  rename(oldPath: string, newPath: string): Promise<void> {
    return promises.rename(oldPath, newPath)
  }

  appendFile(path: string, content: string): Promise<void> {
    return promises.appendFile(path, content)
  }

  resolvePath(path: string): string {
    return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : resolve(path)
  }

  joinPath(...segments: string[]): string {
    return join(...segments)
  }

  getHomeDir(): string {
    return homedir()
  }

  getCwd(): string {
    return process.cwd()
  }

  dirname(filePath: string): string {
    return dirname(filePath)
  }
}
