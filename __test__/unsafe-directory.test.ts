/** Directories and files of other users, and what others may do with them. */

import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { ContextHistory, ContextManager, ContextStore, RepoMemory } from '../dist/index.js'
import { inDirectory, isRoot, NOBODY, runScript } from './support/fixtures.ts'
import { PATIENT } from './support/processes.ts'

const OTHER = 4711
const HASH = 'a'.repeat(64)
/** In CI tests run as root. */
const skipUsers = isRoot || process.env['CI'] === 'true' ? false : 'needs root, to become other users'
const skipModes = process.platform === 'win32' ? 'there are no modes' : false

/** Collects debug messages. */
function listener(): {
  messages: string[]
  onDebug: (message: string) => void
  said: (what: string | RegExp) => string[]
} {
  const messages: string[] = []
  return {
    messages,
    onDebug: (message) => void messages.push(message),
    said: (what) => messages.filter((message) => (typeof what === 'string' ? message === what : what.test(message))),
  }
}

type Outcome = { code?: string; message?: string }

/** Uses `input.directory` through every class as a user who is not root; reports outcomes and debug messages. */
const USE = `
const { directory, options } = input
const outcomes = {}
const messages = []
const onDebug = (message) => void messages.push(message)
const attempt = async (name, work) => {
  outcomes[name] = await work().then(() => ({}), failure)
}
const manager = new ContextManager({ contextDir: directory, onDebug, ...options })
await attempt('save', () => manager.saveContext('t', {}, 'x'))
await attempt('load', () => manager.loadContext(directory + '/t_0123456789ab_1_0_0123456789abcdef.json'))
await attempt('list', () => manager.listContexts())
await attempt('sweep', () => manager.sweep())
await attempt('searchDirectory', () => manager.search('x', { sessions: 'all' }))
const history = new ContextHistory({ path: directory + '/h.jsonl', onDebug, ...options })
await attempt('read', () => history.read())
await attempt('append', () => history.append({ toolName: 't', params: {}, result: 1, success: true }))
await attempt('compact', () => history.compact({ keepLast: 1 }))
await attempt('verify', () => history.verify())
const store = new ContextStore({ agent: 'a', path: directory, onDebug, ...options })
await attempt('find', () => store.search({ query: 'x' }))
await attempt('write', () => store.write({ type: 'finding', slug: 's', content: 'c' }))
const memory = await RepoMemory.open({ repoHash: 'a'.repeat(64), root: directory, onDebug, ...options })
await attempt('remembered', () => memory.getRepoMemory())
await attempt('note', () => memory.upsertNote({ content: 'n' }))
await attempt('summary', () => memory.appendSummary('r', 's', 't'))
report({ outcomes, messages })
`

interface Used {
  outcomes: Record<string, Outcome>
  messages: string[]
}

const use = async (directory: string, options: object = {}, uid = NOBODY): Promise<Used> =>
  (await runScript(USE, { input: { directory, options }, uid })) as Used

describe('a directory of another user', { skip: skipUsers, ...PATIENT }, () => {
  const inForeign = (work: (directory: string) => Promise<void>): Promise<void> =>
    inDirectory(async (parent) => {
      chmodSync(parent, 0o755)
      const directory = join(parent, 'theirs')
      mkdirSync(directory)
      chownSync(directory, OTHER, OTHER)
      chmodSync(directory, 0o777)
      await work(directory)
    })

  it('is refused by every class', () =>
    inForeign(async (directory) => {
      const { outcomes } = await use(directory)
      const allowed = Object.entries(outcomes).filter(([, { code }]) => code !== 'ERR_CONTEXT_UNSAFE_DIRECTORY')
      assert.deepEqual(allowed, [])
      for (const { message = '' } of Object.values(outcomes)) {
        assert.match(message, /belongs to uid 4711, and this process runs as uid 65534/)
        assert.match(message, /set (contextDir|path|root) to a directory of your own, or set allowShared: true/)
        assert.ok(message.includes(directory))
      }
    }))

  it('is used, and reported once by each class, with allowShared', () =>
    inForeign(async (directory) => {
      const { outcomes, messages } = await use(directory, { allowShared: true })
      const { load, ...others } = outcomes
      assert.equal(load?.code, 'ERR_CONTEXT_NOT_FOUND')
      assert.deepEqual(
        Object.entries(others).filter(([, { code }]) => code !== undefined),
        [],
      )
      for (const what of ['context directory', 'directory of the history', 'context store', "memory's directory"]) {
        for (const said of [`belongs to uid ${OTHER}`, 'is writable by everyone (mode 0777)']) {
          const message = `The ${what} ${directory} ${said}`
          assert.equal(messages.filter((other) => other === message).length, 1, message)
        }
      }
    }))

  it('is used and reported by a process that runs as root', () =>
    inForeign(async (contextDir) => {
      const { said, onDebug } = listener()
      const manager = new ContextManager({ contextDir, onDebug })
      await manager.saveContext('t', {}, 1)
      await manager.saveContext('t', {}, 2)
      assert.equal(said(`The context directory ${contextDir} belongs to uid ${OTHER}`).length, 1)
      await manager.clear()
    }))

  it('of root is used without a word', () =>
    inDirectory(async (directory) => {
      chmodSync(directory, 0o1777)
      const { outcomes, messages } = await use(directory)
      const { load, ...others } = outcomes
      assert.equal(load?.code, 'ERR_CONTEXT_NOT_FOUND')
      assert.deepEqual(
        Object.entries(others).filter(([, { code }]) => code !== undefined),
        [],
      )
      assert.deepEqual(
        messages.filter((message) => /uid|mode/.test(message)),
        [],
      )
    }))

  it('does not show what another user put in the place of a context', () =>
    inForeign(async (directory) => {
      const path = join(directory, 't_0123456789ab_1_0_0123456789abcdef.json')
      writeFileSync(path, JSON.stringify({ toolName: 't', args: {}, result: 'FORGED' }))
      const reported = await runScript(
        `const manager = new ContextManager({ contextDir: input.directory })
        report(await manager.loadContext(input.path).then(({ result }) => ({ result }), failure))`,
        { input: { directory, path }, uid: NOBODY },
      )
      assert.equal((reported as Outcome).code, 'ERR_CONTEXT_UNSAFE_DIRECTORY')
    }))
})

describe('files and directories that others may use', { skip: skipModes }, () => {
  it('are reported once: a directory that all users may write', () =>
    inDirectory(async (contextDir) => {
      chmodSync(contextDir, 0o777)
      const { said, onDebug } = listener()
      const manager = new ContextManager({ contextDir, onDebug })
      await manager.saveContext('t', {}, 1)
      await manager.listContexts()
      assert.equal(said(`The context directory ${contextDir} is writable by everyone (mode 0777)`).length, 1)
    }))

  it('are reported once: a history that others may read', () =>
    inDirectory(async (directory) => {
      chmodSync(directory, 0o755)
      const path = join(directory, 'h.jsonl')
      writeFileSync(path, '{"tool_name":"other","params":{},"result":1,"success":true}\n')
      chmodSync(path, 0o644)
      const { said, onDebug } = listener()
      const history = new ContextHistory({ path, onDebug })
      await history.append({ toolName: 't', params: {}, result: 1, success: true })
      assert.equal((await history.read()).length, 2, 'it works')
      assert.equal(said(`${path} is readable by others (mode 0644)`).length, 1)
    }))

  it('are reported once: an entry of a store and a memory that others may read', () =>
    inDirectory(async (directory) => {
      chmodSync(directory, 0o755)
      const { said, onDebug } = listener()
      const store = new ContextStore({ agent: 'a', path: directory, onDebug })
      const { path } = await store.write({ type: 'finding', slug: 's', content: 'words' })
      await store.search({ query: 'words' })
      const entry = join(directory, path)
      assert.equal(said(`${entry} is readable by others (mode 0644)`).length, 0)
      chmodSync(entry, 0o644)
      await store.search({ query: 'words' })
      assert.equal(said(`${entry} is readable by others (mode 0644)`).length, 0, 'nobody reaches it')
      chmodSync(join(directory, 'a'), 0o755)
      await store.search({ query: 'words' })
      await store.search({ query: 'words' })
      assert.equal(said(`${entry} is readable by others (mode 0644)`).length, 1)
      const root = join(directory, 'root')
      const own = await RepoMemory.open({ repoHash: HASH, root })
      await own.upsertNote({ content: 'n' })
      const file = join(own.directory, 'memory.json')
      for (const open of [root, join(root, 'repos'), own.directory]) {
        chmodSync(open, 0o755)
      }
      chmodSync(file, 0o644)
      const memory = await RepoMemory.open({ repoHash: HASH, root, onDebug })
      await memory.getRepoMemory()
      await memory.getRepoMemory()
      assert.equal(said(`${file} is readable by others (mode 0644)`).length, 1)
    }))

  it('are not reported where no other user can reach them', () =>
    inDirectory(async (directory) => {
      chmodSync(directory, 0o700)
      const path = join(directory, 'h.jsonl')
      writeFileSync(path, '')
      chmodSync(path, 0o644)
      const { messages, onDebug } = listener()
      await new ContextHistory({ path, onDebug }).append({ toolName: 't', params: {}, result: 1, success: true })
      assert.deepEqual(
        messages.filter((message) => /mode 0/.test(message)),
        [],
      )
    }))

  it('are reported once: a file system that keeps no modes', () =>
    inDirectory(async (contextDir) => {
      const { said, onDebug } = listener()
      writeFileSync(join(contextDir, 'h.jsonl.lock'), '')
      chmodSync(join(contextDir, 'h.jsonl.lock'), 0o755)
      const history = new ContextHistory({ path: join(contextDir, 'h.jsonl'), onDebug })
      await history.append({ toolName: 't', params: {}, result: 1, success: true })
      await history.append({ toolName: 't', params: {}, result: 1, success: true })
      const expected =
        /^The file system of .* may keep no modes: .*h\.jsonl\.lock was created with mode 0600 and has 0755$/
      assert.equal(said(expected).length, 1)
    }))
})

describe('rewriting', { skip: skipModes }, () => {
  const mode = (path: string): number => statSync(path).mode & 0o777

  it('never widens the mode of a history, and keeps that of its owner', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'h.jsonl')
      const history = new ContextHistory({ path })
      const append = () => history.append({ toolName: 't', params: {}, result: 1, success: true })
      await append()
      assert.equal(mode(path), 0o600)
      for (const given of [0o600, 0o640, 0o600]) {
        chmodSync(path, given)
        await append()
        await history.compact({ keepLast: 1 })
        assert.equal(mode(path), given)
      }
      assert.equal(mode(join(directory, 'h.jsonl.lock')), 0o600)
    }))

  it(
    'takes neither the mode nor the owner of a history that another user planted',
    { skip: skipUsers, ...PATIENT },
    () =>
      inDirectory(async (directory) => {
        chmodSync(directory, 0o777)
        const path = join(directory, 'h.jsonl')
        writeFileSync(path, '{"tool_name":"planted","params":{},"result":1,"success":true}\n'.repeat(2))
        chownSync(path, OTHER, OTHER)
        chmodSync(path, 0o666)
        const messages = await runScript(
          `const messages = []
        const history = new ContextHistory({ path: input, onDebug: (message) => void messages.push(message) })
        await history.append({ toolName: 't', params: {}, result: 'private', success: true })
        await history.compact({ keepLast: 1 })
        report(messages)`,
          { input: path, uid: NOBODY },
        )
        const { uid } = statSync(path)
        assert.deepEqual([uid, mode(path)], [NOBODY, 0o600])
        assert.ok(readFileSync(path, 'utf8').includes('private'))
        for (const said of [`belongs to uid ${OTHER}`, 'is writable by everyone (mode 0666)']) {
          assert.ok((messages as string[]).includes(`${path} ${said}`), said)
        }
      }),
  )

  it('never widens the mode of an entry or of a memory', () =>
    inDirectory(async (directory) => {
      const store = new ContextStore({ agent: 'a', path: join(directory, 'store') })
      const { path } = await store.write({ type: 'finding', slug: 's', content: 'c' })
      const entry = join(directory, 'store', path)
      const memory = await RepoMemory.open({ repoHash: HASH, root: join(directory, 'root') })
      await memory.upsertNote({ content: 'n' })
      const file = join(memory.directory, 'memory.json')
      for (const given of [0o600, 0o400, 0o644]) {
        chmodSync(entry, given)
        chmodSync(file, given)
        await store.update(path, { addTags: [`t${given}`] }, 'tagged')
        await memory.upsertNote({ content: `n${given}` })
        for (const changed of [entry, file]) {
          assert.equal(mode(changed) & ~0o600 & ~given, 0, `${given.toString(8)} became ${mode(changed).toString(8)}`)
        }
      }
    }))
})
