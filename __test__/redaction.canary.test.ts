/**
 * Hundreds of secrets of all kinds go through everything that stores or keeps something. No piece of them may be on disk
 * at any time, in what an injected file system is given, or in anything that comes back.
 */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { ContextHistoryOptions, ContextManagerOptions, RedactionOptions } from '../dist/index.js'
import { inDirectory, MemoryFileSystem, RenamingFileSystem } from './support/fixtures.ts'
import { keepEntries } from './support/planted-entries.ts'
import { rememberThings } from './support/planted-memories.ts'
import { plantSecrets } from './support/planted-secrets.ts'
import { recordHistory, storeContexts, storeLargeContexts } from './support/planted-work.ts'
import { PATIENT } from './support/processes.ts'
import { DirectoryWatch, SecretSweep } from './support/secret-sweep.ts'

const COUNT = 500
const SEED = 5
const { planted, variables, patterns } = plantSecrets(COUNT, SEED)

/** The caller's rules in addition to the built-in ones. */
const REDACTION: RedactionOptions = { patterns }
const WATCHED_EVERY = 20 // ms
const SHOWN_BY_ERRORS = 2000 // characters

type Options = Pick<ContextManagerOptions & ContextHistoryOptions, 'durability' | 'fileSystem'>

/** Where things are stored, and how to look at all of it while and after it is. */
type Place = (
  sweep: SecretSweep,
  body: (directory: string, options: Options, look: () => void) => Promise<void>,
) => Promise<void>

const onDisk =
  (options: Options): Place =>
  (sweep, body) =>
    inDirectory(async (directory) => {
      const watch = new DirectoryWatch(directory, sweep)
      let isOver = false
      const watching = (async () => {
        while (!isOver) {
          watch.look()
          await setTimeout(WATCHED_EVERY)
        }
      })()
      try {
        await body(directory, options, () => watch.look())
      } finally {
        isOver = true
        await watching
      }
    })

const injected =
  (make: () => MemoryFileSystem): Place =>
  async (sweep, body) => {
    const fileSystem = make()
    await body('/planted', { fileSystem }, () => {
      for (const call of fileSystem.calls.splice(0)) {
        const [method, path] = call
        // A caller may ask for whatever path: nothing is stored by that.
        if (method === 'readFile' || method === 'exists') {
          continue
        }
        sweep.lookAtName('names of files', String(path))
        sweep.look('files', call.join('\n'))
      }
    })
  }

const PLACES: Readonly<Record<string, Place>> = {
  'the local disk, durable': onDisk({ durability: 'full' }),
  'an injected file system': injected(() => new MemoryFileSystem()),
  'an injected file system that renames': injected(() => new RenamingFileSystem()),
}

/** Everything that can be stored there, seen by a sweep. */
async function sweepPlace(place: Place, redaction: false | RedactionOptions): Promise<SecretSweep> {
  const sweep = new SecretSweep(planted)
  await place(sweep, async (directory, options, look) => {
    const contextDir = `${directory}/contexts`
    await storeContexts(planted, sweep, { ...options, contextDir, redaction }, look)
    await recordHistory(planted, sweep, { ...options, path: `${directory}/history/h.jsonl`, redaction }, look)
    await keepEntries(planted, sweep, { ...options, path: `${directory}/store`, redaction }, look)
  })
  return sweep
}

/** What large outputs leave, and those that memory has no room for. */
async function sweepSizes(redaction: false | RedactionOptions): Promise<SecretSweep> {
  const sweep = new SecretSweep(planted)
  await onDisk({ durability: 'full' })(sweep, async (directory, options, look) => {
    const contextDir = join(directory, 'contexts')
    await storeLargeContexts(planted, sweep, { ...options, contextDir, redaction }, look)
  })
  return sweep
}

/** What is remembered about a repository, whose own files hold secrets as well. */
async function sweepMemories(redaction: false | RedactionOptions): Promise<SecretSweep> {
  const sweep = new SecretSweep(planted)
  await onDisk({})(sweep, (root, _, look) => rememberThings(planted, sweep, { root, redaction }, look))
  return sweep
}

/** Writing fails: below a file there is no directory, and a file system may refuse. */
async function sweepFailures(redaction: false | RedactionOptions): Promise<SecretSweep> {
  const sweep = new SecretSweep(planted)
  await onDisk({})(sweep, async (directory, options, look) => {
    writeFileSync(join(directory, 'file'), '')
    const failing = { ...options, contextDir: join(directory, 'file', 'contexts'), redaction }
    await storeContexts(planted, sweep, failing, look)
    await recordHistory(planted, sweep, { ...options, path: join(directory, 'file', 'h.jsonl'), redaction }, look)
    await keepEntries(planted, sweep, { ...options, path: join(directory, 'file', 'store'), redaction }, look)
    await rememberThings(planted, sweep, { root: join(directory, 'file', 'memory'), redaction }, look)
  })
  const refusing = new MemoryFileSystem()
  refusing.writeFile = (path, content) =>
    Promise.reject(new Error(`no room for ${path}: ${content.slice(0, SHOWN_BY_ERRORS)}`))
  const options = { fileSystem: refusing, redaction }
  await storeContexts(planted, sweep, { ...options, contextDir: '/refused' }, () => {})
  await recordHistory(planted, sweep, { ...options, path: '/refused/h.jsonl' }, () => {})
  await keepEntries(planted, sweep, { ...options, path: '/refused/store' }, () => {})
  return sweep
}

function assertNothing(sweep: SecretSweep): void {
  const leaks = sweep.leaks()
  assert.ok(leaks.length === 0, `pieces of secrets are left:\n${leaks.join('\n')}`)
  assert.ok(sweep.found.size > 1, 'the sweep saw nothing')
}

/** The sweep finds what is there: every secret, wherever something is stored or comes back. */
function assertEverything(sweep: SecretSweep, elsewhere: readonly string[]): void {
  const seen = [...sweep.found.keys()].filter((where) => !elsewhere.includes(where))
  assert.deepEqual(
    Object.fromEntries(seen.map((where) => [where, sweep.count(where)])),
    Object.fromEntries(seen.map((where) => [where, COUNT])),
    'secrets seen',
  )
}

describe('500 secrets of all kinds', () => {
  before(() => {
    Object.assign(process.env, variables)
  })
  after(() => {
    for (const name of Object.keys(variables)) {
      delete process.env[name]
    }
  })

  for (const [name, place] of Object.entries(PLACES)) {
    it(`are nowhere on ${name}, and in nothing that comes back`, PATIENT, async () => {
      assertNothing(await sweepPlace(place, REDACTION))
    })
  }

  it('are nowhere when outputs are large, or leave memory', PATIENT, async () => {
    assertNothing(await sweepSizes(REDACTION))
  })

  it('are nowhere in the memory of a repository', PATIENT, async () => {
    assertNothing(await sweepMemories(REDACTION))
  })

  it('are nowhere when writing fails', PATIENT, async () => {
    assertNothing(await sweepFailures(REDACTION))
  })

  it('are found by the same sweep when redaction is switched off', PATIENT, async () => {
    const elsewhere = [
      // Names are cut.
      ...['names of files', 'paths', 'handles'],
      // They hold a few of all, or none.
      ...[
        'answers of the store tools',
        'checks of the store',
        'entries asked for',
        'nothing',
        'summaries',
        'packs asked for',
      ],
      ...['lists of the tool', 'hits of the tool', 'slices of the tool', 'entries of the tool', 'flushes', 'checks'],
    ]
    assertEverything(await sweepPlace(onDisk({}), false), elsewhere)
    assertEverything(await sweepSizes(false), elsewhere)
    const memories = await sweepMemories(false)
    // A map shows no values on several lines, and nothing goes wrong that would be told with a secret.
    assertEverything(memories, [...elsewhere, 'maps', 'debug messages', 'errors'])
    assert.ok(memories.count('maps') > COUNT / 2, `maps show ${memories.count('maps')} secrets`)
  })
})
