/** A PostgreSQL server for tests: on a port of its own on loopback, in a temporary directory that goes with it. */

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'

/** Where Debian puts the programs of each version. */
const DEBIAN = '/usr/lib/postgresql'

/** The option `storage` for tests that are run once more on the database that `AGENT_CONTEXT_TEST_DATABASE` names. */
export function inDatabase(options: { fileSystem?: unknown }): { storage?: string } {
  const given = process.env['AGENT_CONTEXT_TEST_DATABASE']
  return given === undefined || given === '' || options.fileSystem !== undefined ? {} : { storage: given }
}

export interface PostgresServer {
  readonly url: string
  stop(): void
}

/**
 * The server that `AGENT_CONTEXT_TEST_DATABASE` names, or a new one. `undefined`, with a message, where PostgreSQL is not
 * installed; an error in CI.
 */
export async function startPostgres(): Promise<PostgresServer | undefined> {
  const given = process.env['AGENT_CONTEXT_TEST_DATABASE']
  if (given !== undefined && given !== '') {
    return { url: given, stop: () => {} }
  }
  const programs = newestPrograms()
  if (programs === undefined) {
    if (process.env['CI'] !== undefined) {
      throw new Error('PostgreSQL is not installed: apt-get install postgresql')
    }
    process.stderr.write('SKIPPED: PostgreSQL is not installed (apt-get install postgresql)\n')
    return undefined
  }
  const directory = mkdtempSync(join(tmpdir(), 'agent-context-postgres-'))
  const data = join(directory, 'data')
  mkdirSync(data)
  if (process.getuid?.() === 0) {
    // The server refuses to run as root.
    run('chown', ['-R', 'postgres', directory])
  }
  const port = await freePort()
  const server = (name: string, parameters: readonly string[]): void => {
    const program = join(programs, name)
    if (process.getuid?.() === 0) {
      run(
        'setpriv',
        ['--reuid=postgres', '--regid=postgres', '--clear-groups', '--', program, ...parameters],
        directory,
      )
    } else {
      run(program, parameters, directory)
    }
  }
  server('initdb', ['--pgdata', data, '--username=agent', '--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C'])
  const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200`
  const log = join(directory, 'log')
  server('pg_ctl', ['start', '--silent', '--wait', '--options', options, '--pgdata', data, '--log', log])
  return {
    url: `postgres://agent@127.0.0.1:${port}/postgres`,
    stop: () => {
      server('pg_ctl', ['stop', '--silent', '--wait', '--mode', 'immediate', '--pgdata', data])
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function newestPrograms(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((one, other) => Number(other) - Number(one)) : []
  return versions.map((version) => join(DEBIAN, version, 'bin')).find((path) => existsSync(join(path, 'initdb')))
}

function run(program: string, parameters: readonly string[], cwd?: string): void {
  const { status, stderr, error } = spawnSync(program, parameters, { cwd, stdio: ['ignore', 'ignore', 'pipe'] })
  if (status !== 0) {
    throw new Error(`${program} failed: ${error?.message ?? stderr.toString()}`)
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
