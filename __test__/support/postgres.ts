/** PostgreSQL servers for tests: each on a port of its own on loopback, in a temporary directory that is removed with it. */

import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type BlobsOptions, type IFileSystem, StateStore } from '../../dist/index.js'
import { DiskFileSystem } from './disk-file-system.ts'

/** Where Debian puts the programs of each version. */
const DEBIAN = '/usr/lib/postgresql'
const OPTIONS = '-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200'

const { AGENT_CONTEXT_TEST_BLOBS, AGENT_CONTEXT_TEST_DATABASE, AGENT_CONTEXT_TEST_FILE_SYSTEM, CI } = process.env

/** The URL of a database for all tests of a run, which a parent process has started. */
export const testDatabase: string | undefined = AGENT_CONTEXT_TEST_DATABASE || undefined

/** The bucket beside the database for tests that are run once more. */
export const testBlobs: { blobs?: BlobsOptions } =
  AGENT_CONTEXT_TEST_BLOBS === undefined ? {} : { blobs: JSON.parse(AGENT_CONTEXT_TEST_BLOBS) as BlobsOptions }

/** Whether tests can read the bytes of a stored file of this length: longer ones are in the bucket, if there is one. */
export const isVisible = (length: number): boolean => testBlobs.blobs === undefined || length <= 256 * 1024

/** Where tests that are run once more keep data: options of a class, besides those of the test. */
export interface TestPlace {
  storage?: string
  blobs?: BlobsOptions
  fileSystem?: IFileSystem
}

/** The injected file system of tests that are run once more with one: the same disk. */
const testFileSystem: IFileSystem | undefined = AGENT_CONTEXT_TEST_FILE_SYSTEM ? new DiskFileSystem() : undefined

/** The place of tests that are run once more on `testDatabase`, or with an injected file system. */
export function inTestPlace(options: { fileSystem?: unknown }): TestPlace {
  if ((options.fileSystem ?? undefined) !== undefined) {
    return {}
  }
  if (testDatabase !== undefined) {
    return { storage: testDatabase, ...testBlobs }
  }
  return testFileSystem === undefined ? {} : { fileSystem: testFileSystem }
}

/** Whether the objects of tests keep files on disk. If not, they are in `testDatabase`, which has no links, modes or empty directories. */
export const isOnDisk = testDatabase === undefined

/** Whether the objects of tests use the disk through an injected file system, which follows links and decodes files as text. */
export const isInjected = testFileSystem !== undefined

/** Whether the objects of tests use the disk themselves, with its links, modes and locks. */
export const isLocal = isOnDisk && !isInjected

/** The options of tests that are skipped in other places, because they are about something that only the local disk has. */
export const onDisk = (about: string): { skip: string | false } => ({
  skip: isLocal ? false : `about ${about}`,
})

const isNode = process.versions['bun'] === undefined && !('Deno' in globalThis)
/** The options of tests that run test files once more: on Node, and in CI only on the oldest one. The core does the work, on each runtime. */
export const ONE_RUNTIME = {
  timeout: 900_000,
  skip: isNode && (!CI || process.versions.node.startsWith('20.')) ? false : 'runs on one runtime',
}

/**
 * Runs test files once more on Node, with what they open in this database, and more variables of the environment: none may fail, and
 * `least` must pass. Tests that are skipped say why: they are about something that only a disk has.
 */
export async function passesOnDatabase(
  url: string,
  names: readonly string[],
  least: number,
  variables: Readonly<Record<string, string>> = {},
): Promise<void> {
  // Tests look into the tables, and may do so before the first call.
  const state = new StateStore({ storage: url })
  await state.get(['none'], 'none')
  await state.close()
  await passesWith({ ...variables, AGENT_CONTEXT_TEST_DATABASE: url }, names, least)
}

/** The lines of a report that describe a failed test. */
const DESCRIBED = 20

/** Runs test files once more on Node with variables of the environment: none may fail, and `least` must pass. */
export async function passesWith(
  variables: Readonly<Record<string, string>>,
  names: readonly string[],
  least: number,
): Promise<void> {
  const files = names.map((name) => fileURLToPath(new URL(`../${name}.test.ts`, import.meta.url)))
  const env = { ...process.env, ...variables, NODE_TEST_CONTEXT: undefined }
  const parameters = ['--import', 'tsx', '--test', '--test-concurrency=2', '--test-reporter=tap', ...files]
  const { stdout } = await promisify(execFile)('node', parameters, { env, maxBuffer: 64 * 1024 * 1024 }).catch(
    (error: { stdout: string; message: string }) => {
      const lines = error.stdout.split('\n')
      const failed = lines.flatMap((line, at) => (/^\s*not ok/.test(line) ? lines.slice(at, at + DESCRIBED) : []))
      assert.fail(failed.join('\n') || error.message)
    },
  )
  const passed = Number(/^# pass (\d+)$/m.exec(stdout)?.[1])
  assert.ok(passed >= least, `only ${passed} tests passed`)
}

export interface PostgresServer {
  readonly port: number
  readonly url: string
  /** Ends sessions and writes everything, or, with `'immediate'`, stops as after a loss of power. */
  stop(how: 'fast' | 'immediate'): void
  /** Starts the server again. */
  start(): void
  /** Runs SQL, and returns what it prints. */
  sql(text: string): string
  /** Stops the server and removes its directory. */
  remove(): void
}

/** Whether PostgreSQL is installed. If not, says so; in CI, throws. */
export function hasPostgres(): boolean {
  if (programs() !== undefined) {
    return true
  }
  if (CI) {
    throw new Error('PostgreSQL is not installed: apt-get install postgresql')
  }
  console.error('SKIPPED: PostgreSQL is not installed (apt-get install postgresql)')
  return false
}

/**
 * Starts a server. Call `hasPostgres` before. Without `fsync`, a commit survives the end of the server's processes, which is all that tests
 * need, but not a loss of power. Benchmarks pass `fsync: true`, the server's default.
 */
export async function startPostgres({ fsync = false }: { fsync?: boolean } = {}): Promise<PostgresServer> {
  const found = programs()
  if (found === undefined) {
    throw new Error('PostgreSQL is not installed')
  }
  const directory = mkdtempSync(join(tmpdir(), 'agent-context-postgres-'))
  const data = join(directory, 'data')
  mkdirSync(data)
  if (isRoot()) {
    // The server refuses to run as root.
    const user = Number(execFileSync('id', ['-u', 'postgres'], { encoding: 'utf8' }))
    chownSync(directory, user, user)
    chownSync(data, user, user)
  }
  const port = await freePort()
  const url = `postgres://agent@127.0.0.1:${port}/postgres`
  const asServer = (...command: string[]): string[] =>
    isRoot() ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', '--', ...command] : command
  const run = (program: string, ...args: string[]): string => {
    const [file = '', ...rest] = asServer(join(found, program), ...args)
    return execFileSync(file, rest, { cwd: directory, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  }
  // The server keeps the streams of `pg_ctl`, so none of them is a pipe.
  const control = (...args: string[]): void => {
    const [file = '', ...rest] = asServer(join(found, 'pg_ctl'), ...args, '--silent', '--wait', '--pgdata', data)
    execFileSync(file, rest, { cwd: directory, stdio: 'ignore' })
  }
  const options = `-p ${port} ${OPTIONS} -c fsync=${fsync ? 'on' : 'off'}`
  const start = (): void => control('start', '--log', join(directory, 'log'), '--options', options)
  const stop = (how: 'fast' | 'immediate'): void => control('stop', '--mode', how)
  const sql = (text: string): string => queryDatabase(url, text)
  const remove = (): void => {
    try {
      stop('immediate')
    } catch {
      // It does not run.
    }
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    const settings = ['--username=agent', '--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C']
    run('initdb', '--pgdata', data, ...settings)
    start()
  } catch (error) {
    remove()
    throw error
  }
  return { port, url, start, stop, sql, remove }
}

export interface Pooler {
  readonly url: string
  stop(): void
}

/** Whether PgBouncer is installed. If not, says so. */
export function hasPooler(): boolean {
  if (spawnSync('pgbouncer', ['--version']).status === 0) {
    return true
  }
  console.error('SKIPPED: PgBouncer is not installed (apt-get install pgbouncer)')
  return false
}

/** Starts PgBouncer in transaction mode, with a few connections to a server. */
export async function startPooler(server: PostgresServer): Promise<Pooler> {
  const directory = mkdtempSync(join(tmpdir(), 'agent-context-pooler-'))
  const [users, settings] = [join(directory, 'users'), join(directory, 'settings')]
  const port = await freePort()
  writeFileSync(users, '"agent" ""\n')
  writeFileSync(
    settings,
    `[databases]
postgres = host=127.0.0.1 port=${server.port} dbname=postgres user=agent
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = 4
`,
  )
  if (isRoot()) {
    execFileSync('chown', ['-R', 'postgres', directory])
  }
  const parameters = ['--quiet', ...(isRoot() ? ['--user=postgres'] : []), settings]
  const pooler = spawn('pgbouncer', parameters, { stdio: 'ignore' })
  const url = `postgres://agent@127.0.0.1:${port}/postgres`
  for (let attempt = 1; ; attempt++) {
    try {
      queryDatabase(url, 'SELECT 1')
      break
    } catch (error) {
      if (attempt === 100) {
        throw error
      }
      await setTimeout(100)
    }
  }
  const stop = (): void => {
    pooler.kill('SIGKILL')
    rmSync(directory, { recursive: true })
  }
  return { url, stop }
}

/** psql prints a line for each row, and nothing else. */
export const PSQL_OPTIONS = ['--no-psqlrc', '--quiet', '--tuples-only', '--no-align']

/** The path of psql. */
export const psql = (): string => join(programs() ?? '', 'psql')

/** Runs SQL in a database, and returns what psql prints. */
export function queryDatabase(url: string, text: string): string {
  return execFileSync(psql(), [...PSQL_OPTIONS, '--set=ON_ERROR_STOP=1', '--file=-', url], {
    input: text,
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

/** Restores a dump of a schema in another database. */
export function restoreDump(from: string, schema: string, to: string): void {
  const dump = execFileSync(join(programs() ?? '', 'pg_dump'), [`--schema=${schema}`, '--format=custom', from], {
    maxBuffer: 256 * 1024 * 1024,
  })
  execFileSync(join(programs() ?? '', 'pg_restore'), ['--exit-on-error', `--dbname=${to}`], { input: dump })
}

/** The directory of the newest installed version. */
function programs(): string | undefined {
  if (!existsSync(DEBIAN)) {
    return undefined
  }
  const versions = readdirSync(DEBIAN).filter((name) => existsSync(join(DEBIAN, name, 'bin', 'initdb')))
  const newest = versions.sort((one, other) => Number(one) - Number(other)).at(-1)
  return newest === undefined ? undefined : join(DEBIAN, newest, 'bin')
}

const isRoot = (): boolean => process.getuid?.() === 0

/** A port of this machine that no server has. */
export function freePort(): Promise<number> {
  return new Promise((found, failed) => {
    const server = createServer()
    server.once('error', failed)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      server.close(() => found(port))
    })
  })
}
