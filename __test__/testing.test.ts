import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { memoryHandlers } from '../dist/anthropic.js'
import { ContextSessionStore } from '../dist/claude-agent.js'
import { ContextBackend } from '../dist/deepagents.js'
import { StateStore } from '../dist/index.js'
import { contextSession } from '../dist/openai-agents.js'
import {
  type ContractOptions,
  fileBackendContract,
  memoryContract,
  sessionContract,
  sessionStoreContract,
} from '../dist/testing.js'
import { PATIENT } from './support/processes.ts'

const directories: string[] = []
after(() => {
  for (const directory of directories) {
    rmSync(directory, { recursive: true, force: true })
  }
})

/** Subjects over a store of their own; those that are opened again have another store of the same file. */
function overState<Subject extends object>(
  name: string,
  open: (state: StateStore) => Subject,
): ContractOptions<Subject> {
  const stores = new WeakMap<Subject, StateStore>()
  const openAt = (path: string): Subject => {
    const state = new StateStore({ path })
    const subject = open(state)
    stores.set(subject, state)
    return subject
  }
  return {
    name,
    create() {
      const directory = mkdtempSync(join(tmpdir(), 'agent-context-testing-'))
      directories.push(directory)
      return openAt(join(directory, 'state.db'))
    },
    reopen: (subject) => openAt(stores.get(subject)?.path ?? ''),
    destroy: (subject) => stores.get(subject)?.close(),
  }
}

const session = overState('contextSession', (state) => contextSession<object>(state, { sessionId: 'one' }))
const sessionStore = overState('ContextSessionStore', (state) => new ContextSessionStore(state))
const memory = overState('memoryHandlers', (state) => memoryHandlers(state))
const backend = overState('ContextBackend', (state) => new ContextBackend(state))

describe('the contracts', () => {
  sessionContract(session)
  sessionStoreContract(sessionStore)
  memoryContract(memory)
  fileBackendContract(backend)
})

type Register<Subject> = (options: ContractOptions<Subject>) => void

/** The cases that a subject fails. */
async function failuresOf<Subject extends object>(
  contract: Register<Subject>,
  options: ContractOptions<Subject>,
  broken: (subject: Subject) => Partial<Subject>,
): Promise<string[]> {
  const cases: [name: string, run: () => Promise<void>][] = []
  const { create, reopen, destroy } = options
  const originals = new WeakMap<Subject, Subject>()
  const sabotage = (subject: Subject): Subject => {
    const changes: Record<string | symbol, unknown> = broken(subject)
    const replaced = new Proxy(subject, {
      get(target, name) {
        const member = name in changes ? changes[name] : Reflect.get(target, name)
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
    originals.set(replaced, subject)
    return replaced
  }
  contract({
    name: 'broken',
    create: async () => sabotage(await create()),
    reopen: async (subject) => sabotage((await reopen?.(originals.get(subject) as Subject)) as Subject),
    destroy: (subject) => destroy?.(originals.get(subject) as Subject),
    test: (name, run) => cases.push([name.replace('broken ', ''), run]),
  })
  const failures: string[] = []
  for (const [name, run] of cases) {
    await run().catch(() => failures.push(name))
  }
  return failures
}

describe('a contract', () => {
  test('finds sessions that are wrong', PATIENT, async () => {
    type Session = ReturnType<typeof contextSession<object>>
    const failing = (broken: (one: Session) => Partial<Session>) => failuresOf(sessionContract, session, broken)
    assert.deepEqual(await failing(() => ({})), [])
    const kept = await failing(() => ({ clearSession: async () => {} }))
    assert.deepEqual(kept, ['is empty once it is cleared, and can be used again'])
    const unlimited = await failing((one) => ({ getItems: () => one.getItems() }))
    assert.deepEqual(unlimited, ['keeps items in their order, and gives the latest of them'])
    const peeking = await failing((one) => ({ popItem: async () => (await one.getItems(1))[0] }))
    assert.deepEqual(peeking, [
      'pops the latest item once',
      'has its items when it is opened again',
      'gives each item to one of two that pop at once',
    ])
    const careless = await failing(() => ({ applyHistoryTransaction: async () => {} }))
    assert.deepEqual(careless, ['applies a transaction of history once'])
  })

  test('finds stores of sessions that are wrong', PATIENT, async () => {
    const failing = (broken: (store: ContextSessionStore) => Partial<ContextSessionStore>) =>
      failuresOf(sessionStoreContract, sessionStore as ContractOptions<ContextSessionStore>, broken)
    assert.deepEqual(await failing(() => ({})), [])
    const reversed = await failing((store) => ({ load: async (key) => (await store.load(key))?.reverse() ?? null }))
    assert.equal(reversed.includes('gives entries in the order in which they were appended'), true)
    const empty = await failing((store) => ({ load: async (key) => (await store.load(key)) ?? [] }))
    assert.equal(empty.includes('gives null for what was never appended to'), true)
    const flat = await failing((store) => ({ append: ({ subpath: _, ...key }, entries) => store.append(key, entries) }))
    assert.equal(flat.includes('keeps projects, sessions and sub-agents apart'), true)
    const lasting = await failing(() => ({ delete: async () => {} }))
    assert.deepEqual(lasting, ['deletes a session with its sub-agents, and nothing else'])
  })

  test('finds memories that are wrong', PATIENT, async () => {
    type Memory = ReturnType<typeof memoryHandlers>
    const failing = (broken: (one: Memory) => Partial<Memory>) =>
      failuresOf(memoryContract, memory as ContractOptions<Memory>, broken)
    assert.deepEqual(await failing(() => ({})), [])
    const open = await failing((one) => ({
      view: (given) => one.view({ ...given, path: given.path.startsWith('/memories/..') ? '/memories' : given.path }),
    }))
    assert.deepEqual(open, ['refuses paths that leave the memory'])
    const overwriting = await failing((one) => ({
      create: async (given) => {
        await one.delete(given).catch(() => {})
        return one.create(given)
      },
    }))
    assert.deepEqual(overwriting, ['does not overwrite a file with a new one'])
    const racing = await failing((one) => ({
      async insert({ path, insert_line: line, insert_text: text }) {
        const lines = (await one.view({ path })).split('\n').slice(1)
        lines.splice(line, 0, `\t${text.trimEnd()}`)
        await one.delete({ path })
        return one.create({ path, file_text: lines.map((one) => one.replace(/^\s*\d*\t/, '')).join('\n') })
      },
    }))
    assert.equal(racing.includes('loses no edit of two at once'), true)
  })

  test('finds backends of files that are wrong', PATIENT, async () => {
    const failing = (broken: (one: ContextBackend) => Partial<ContextBackend>) =>
      failuresOf(fileBackendContract, backend as ContractOptions<ContextBackend>, broken)
    assert.deepEqual(await failing(() => ({})), [])
    const deep = await failing((one) => ({ ls: (path) => one.glob('**', path) }))
    assert.deepEqual(deep, ['lists a directory without what is deeper'])
    const whole = await failing((one) => ({ read: (path) => one.read(path) }))
    assert.deepEqual(whole, ['reads lines from an offset, and says where to go on'])
    const everywhere = await failing((one) => ({ grep: (pattern) => one.grep(pattern) }))
    assert.deepEqual(everywhere, ['finds lines by a literal text'])
    const throwing = await failing((one) => ({
      async read(...given: Parameters<ContextBackend['read']>) {
        const result = await one.read(...given)
        assert.equal(result.error, undefined)
        return result
      },
    }))
    assert.deepEqual(throwing.sort(), [
      'answers what fails with an error',
      'deletes a file, or a directory with all that is in it',
      'does not leave its tree',
    ])
  })

  test('refuses options that it does not know', () => {
    const options = { name: 'x', create: () => ({}), tests: () => {} }
    assert.throws(() => memoryContract(options as never), /did you mean 'test'/)
    assert.throws(() => memoryContract({ create: () => ({}) } as never), /name must be a non-empty string/)
  })

  test('leaves out what is opened again where nothing opens it', () => {
    const names: string[] = []
    memoryContract({ ...memory, reopen: undefined, test: (name) => names.push(name) })
    assert.equal(names.length, 10)
    assert.ok(names.every((name) => name.startsWith('memoryHandlers ')))
  })
})
