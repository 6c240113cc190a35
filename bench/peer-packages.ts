/** Installs and loads what the package is compared with. A peer that is not there is reported, not fatal. */

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

const FOLDER = import.meta.dirname
const IMPORTS = {
  'write-file-atomic': () => import('write-file-atomic'),
  cacache: () => import('cacache'),
  'better-sqlite3': async () => {
    const module = await import('better-sqlite3')
    // Its addon, which may be for another runtime, is loaded by the first database.
    new module.default(':memory:').close()
    return module
  },
  lmdb: () => import('lmdb'),
  minisearch: () => import('minisearch'),
  '@orama/orama': () => import('@orama/orama'),
  flexsearch: () => import('flexsearch'),
  keyv: () => import('keyv'),
  '@keyv/sqlite': () => import('@keyv/sqlite'),
  unstorage: () => import('unstorage'),
  '@langchain/langgraph-checkpoint-sqlite': () => import('@langchain/langgraph-checkpoint-sqlite'),
  '@secretlint/core': () => import('@secretlint/core'),
  '@secretlint/secretlint-rule-preset-recommend': () => import('@secretlint/secretlint-rule-preset-recommend'),
}

export type PeerName = keyof typeof IMPORTS
type PeerModule<Name extends PeerName> = Awaited<ReturnType<(typeof IMPORTS)[Name]>>

export class Peers {
  readonly versions = new Map<PeerName, string>()
  /** The reason for each peer that is missing. */
  readonly skipped = new Map<PeerName, string>()
  readonly #modules = new Map<PeerName, unknown>()

  /** Loads some, or all. */
  static async load(names = Object.keys(IMPORTS) as readonly PeerName[]): Promise<Peers> {
    const problem = names.every(isInstalled) ? undefined : install()
    const peers = new Peers()
    for (const name of names) {
      await peers.#load(name, problem)
    }
    return peers
  }

  async #load(name: PeerName, installProblem: string | undefined): Promise<void> {
    try {
      if (!isInstalled(name)) {
        throw new Error(installProblem ?? 'npm could not install it (an optional dependency of bench/package.json)')
      }
      this.#modules.set(name, await IMPORTS[name]())
      this.versions.set(name, installedVersion(name))
    } catch (error) {
      this.skipped.set(name, firstLine(error))
    }
  }

  /** The module, `undefined` where the peer was skipped. */
  get<Name extends PeerName>(name: Name): PeerModule<Name> | undefined {
    return this.#modules.get(name) as PeerModule<Name> | undefined
  }
}

export function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split('\n', 1)[0] ?? ''
}

/** What a process that failed says: the line with the error, where Node prints the source line before it. */
export function errorLine(output: string): string {
  return output.split('\n').find((line) => /^\w*Error\b/.test(line)) ?? firstLine(output)
}

function manifest(name: string): string {
  return join(FOLDER, 'node_modules', name, 'package.json')
}

function isInstalled(name: string): boolean {
  return existsSync(manifest(name))
}

function installedVersion(name: string): string {
  return (JSON.parse(readFileSync(manifest(name), 'utf8')) as { version: string }).version
}

/** Why it failed, if it did. */
function install(): string | undefined {
  process.stderr.write('Installing the peers into bench/node_modules (once; may compile for a minute) ...\n')
  const parameters = ['install', '--prefix', FOLDER, '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
  const npm = spawnSync('npm', parameters, { cwd: FOLDER, encoding: 'utf8', shell: process.platform === 'win32' })
  if (npm.status === 0) {
    return undefined
  }
  return `npm install failed: ${firstLine(npm.error ?? npm.stderr?.trim() ?? 'npm is missing')}`
}
