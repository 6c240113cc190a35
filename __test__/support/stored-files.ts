/**
 * The functions of `node:fs` for what the objects of tests store: files on disk or, where the run has a test database, rows of it. What
 * tests keep beside that, such as the source files of a repository, is on disk in every run: they import `node:fs` for it.
 */

import { Buffer } from 'node:buffer'
import * as fs from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { testDatabase } from './postgres.ts'
import { startSqlSession } from './sql-session.ts'

/** The longest row of a file's contents. */
const PART = 256 * 1024

/** Throws as `node:fs` does. */
function missing(call: string, path: string): never {
  throw Object.assign(new Error(`ENOENT: no such file or directory, ${call} '${path}'`), { code: 'ENOENT' })
}

let session: ((text: string) => string) | undefined

/** Runs SQL in the test database. */
export function query(text: string): string {
  session ??= startSqlSession(testDatabase ?? '')
  return session(text)
}
const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
const fileAt = (path: string): string =>
  `directory = ${quoted(dirname(resolve(path)))} AND name = ${quoted(basename(path))}`
/** The rows of files below a directory. */
const below = (path: string): string =>
  `(directory = ${quoted(resolve(path))} OR starts_with(directory, ${quoted(`${resolve(path)}/`)}))`
const isOne = (condition: string): boolean =>
  query(`SELECT 1 FROM agent_context.file WHERE ${condition} LIMIT 1`) !== ''

const removeWhere = (condition: string): string =>
  `WITH gone AS (DELETE FROM agent_context.file WHERE ${condition} RETURNING id)
  DELETE FROM agent_context.part WHERE file IN (SELECT id FROM gone);`

const now = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint'

function writing(path: string, bytes: Buffer): string {
  const id = quoted(crypto.randomUUID())
  const starts = Array.from({ length: Math.ceil(bytes.length / PART) }, (_, part) => part * PART)
  const parts = starts.map(
    (start) =>
      `INSERT INTO agent_context.part (file, start, bytes) VALUES (${id}, ${start}, '\\x${bytes.toString('hex', start, start + PART)}');`,
  )
  return `${removeWhere(fileAt(path))}
    INSERT INTO agent_context.file (directory, name, id, length, created, modified, version)
    VALUES (${quoted(dirname(resolve(path)))}, ${quoted(basename(path))}, ${id}, ${bytes.length}, ${now}, ${now}, 0);
    ${parts.join('\n')}`
}

const write = (path: string, bytes: Buffer): void => void query(`BEGIN; ${writing(path, bytes)} COMMIT;`)

function read(path: string): Buffer {
  const found = query(`SELECT length || ':' || coalesce((SELECT encode(string_agg(bytes, '' ORDER BY start), 'hex')
    FROM agent_context.part WHERE file = id), '') FROM agent_context.file WHERE ${fileAt(path)}`)
  const [, length, hex] = /^(\d+):([0-9a-f]*)$/m.exec(found) ?? missing('open', path)
  return Buffer.from(hex ?? '', 'hex').subarray(0, Number(length))
}

function list(directory: string): string[] {
  const start = `${resolve(directory)}/`
  const rows = query(`SELECT name FROM agent_context.file WHERE directory = ${quoted(resolve(directory))}
    UNION SELECT split_part(substr(directory, ${start.length + 1}), '/', 1) FROM agent_context.file
    WHERE starts_with(directory, ${quoted(start)})`)
  return rows.split('\n').slice(0, -1).sort()
}

function exists(path: string): boolean {
  return isOne(`${fileAt(path)} OR ${below(path)}`)
}

function remove(path: string, options: { recursive?: boolean; force?: boolean } = {}): void {
  const condition = options.recursive ? `${fileAt(path)} OR ${below(path)}` : fileAt(path)
  if (!options.force && !isOne(condition)) {
    missing('rm', path)
  }
  query(removeWhere(condition))
}

function statusOf(path: string): { size: number; mtimeMs: number } {
  const found = query(`SELECT length || ' ' || modified FROM agent_context.file WHERE ${fileAt(path)}`)
  const [size = 0, modified = 0] =
    found === '' && !isOne(below(path)) ? missing('stat', path) : found.split(' ').map(Number)
  return { size, mtimeMs: modified / 1000 }
}

function rename(from: string, to: string): void {
  const [start, end] = [resolve(from), resolve(to)]
  query(`BEGIN; ${removeWhere(fileAt(to))}
    UPDATE agent_context.file SET directory = ${quoted(end)} || substr(directory, ${start.length + 1}) WHERE ${below(from)};
    UPDATE agent_context.file SET directory = ${quoted(dirname(end))}, name = ${quoted(basename(end))} WHERE ${fileAt(from)};
    COMMIT;`)
}

const inRows = {
  appendFileSync: (path: string, data: string): void =>
    write(path, Buffer.concat([exists(path) ? read(path) : Buffer.alloc(0), Buffer.from(data)])),
  copyFileSync: (from: string, to: string): void => write(to, read(from)),
  existsSync: exists,
  // A directory is there while a file is in it.
  mkdirSync: (): void => {},
  readdirSync: (directory: string, options?: object): unknown[] =>
    options === undefined
      ? list(directory)
      : list(directory).map((name) => ({ name, isDirectory: () => !isOne(fileAt(`${directory}/${name}`)) })),
  readFileSync: (path: string, encoding?: BufferEncoding): Buffer | string =>
    encoding === undefined ? read(path) : read(path).toString(encoding),
  renameSync: rename,
  rmSync: remove,
  statSync: statusOf,
  truncateSync: (path: string, length: number): void => write(path, read(path).subarray(0, length)),
  unlinkSync: (path: string): void => remove(path),
  writeFileSync: (path: string, data: string | Uint8Array): void => write(path, Buffer.from(data as Uint8Array)),
}

// With the parameters and results that tests use.
export const {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} = testDatabase === undefined ? fs : (inRows as unknown as typeof fs)

/** Writes many files, by their paths. */
export function writeFiles(files: Readonly<Record<string, string>>): void {
  const entries = Object.entries(files)
  if (testDatabase === undefined) {
    for (const [path, text] of entries) {
      fs.writeFileSync(path, text)
    }
  } else {
    query(`BEGIN; ${entries.map(([path, text]) => writing(path, Buffer.from(text))).join('\n')} COMMIT;`)
  }
}
