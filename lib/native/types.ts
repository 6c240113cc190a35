/** The file system that a caller can inject. */

/**
 * A file system that is used instead of the local disk, such as an in-memory map in tests, a sandbox, or a remote store. Methods
 * may be synchronous or asynchronous and are looked up on the object at every call. The interface has no locks and no fsync:
 * which writes survive a crash depends on the implementation.
 */
export interface IFileSystem {
  /** Returns the file's text. Rejects if it cannot be read, preferably with `code: 'ENOENT'` if it does not exist. */
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
  /** Returns the names in a directory, without paths. */
  readdir(path: string): Promise<string[]>
  /** Renames a file. If it is implemented, files are replaced atomically: readers never see a partial file. */
  rename?(oldPath: string, newPath: string): Promise<void>
  /** Appends text to a file, and creates the file if needed. If it is not implemented, an append reads and rewrites the file. */
  appendFile?(path: string, content: string): Promise<void>
}
