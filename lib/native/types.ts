/** The file system that a caller can inject. */

/**
 * A file system that takes the place of the local disk: an in-memory map in tests, a sandbox, a
 * remote store. Methods may be synchronous or asynchronous and are looked up on the object at every
 * call. There are no locks and no fsync here: what survives a crash is up to the implementation.
 */
export interface IFileSystem {
  /** The file's text. Rejects when it cannot be read, best with `code: 'ENOENT'` when it is missing. */
  readFile(path: string): Promise<string>
  writeFile(path: string, content: string): Promise<void>
  exists(path: string): Promise<boolean>
  /** Creates the directory and its parents. */
  mkdir(path: string): Promise<void>
  chmod(path: string, mode: number): Promise<void>
  /** Expands `~` and makes the path absolute. Called once, by the constructor. */
  resolvePath(path: string): string
  joinPath(...segments: string[]): string
  getHomeDir(): string
  getCwd(): string
  dirname(filePath: string): string
  unlink(path: string): Promise<void>
  /** File names only. */
  readdir(path: string): Promise<string[]>
  /** With it, readers see a new file whole or not at all. */
  rename?(oldPath: string, newPath: string): Promise<void>
  /** Adds text at a file's end, creating the file. With it, appending costs no reading and rewriting. */
  appendFile?(path: string, content: string): Promise<void>
}
