/** Every options object of the public API, as `index.d.ts` declares it: known names are accepted, any other is refused. */

import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { rootCertificates } from 'node:tls'
import {
  autoRecord,
  type ContextError,
  ContextHistory,
  ContextManager,
  ContextStore,
  contextStoreTools,
  contextTools,
  copyStorage,
  createToolRecorder,
  RepoMemory,
  readContextTool,
  redact,
  redactStream,
  redactValue,
  StateStore,
  summariseStep,
} from '../dist/index.js'
import { inDirectory, rejectsWith, throwsWith, wrong } from './support/fixtures.ts'
import { holds, PATIENT } from './support/processes.ts'
import { type PublicTypes, publicTypes } from './support/public-types.ts'

/** What the calls below use: one of each class, on an empty directory. */
interface World {
  readonly directory: string
  readonly manager: ContextManager
  readonly saved: string
  readonly history: ContextHistory
  readonly store: ContextStore
  readonly entry: string
  readonly memory: RepoMemory
  readonly state: StateStore
}

/** Members of an options object, right or wrong. */
type Given = Record<string, unknown>

interface Call {
  /** Where the object lies, in messages: empty for a parameter. */
  readonly place: string
  /** Makes a call that is right, but for the members given. */
  readonly make: (given: Given, world: World) => unknown
}

const at = (place: string, make: Call['make']): Call => ({ place, make })
const call = (make: Call['make']): Call => at('', make)

/** There is nothing to be found: what matters is what the arguments are taken for. */
async function searched(promise: Promise<unknown>): Promise<void> {
  try {
    await promise
  } catch (error) {
    if ((error as ContextError).code !== 'ERR_CONTEXT_NOT_FOUND') {
      throw error
    }
  }
}

/** The files of an output in another directory. */
const FILES = {
  filename: 'tool_0123456789ab_1_1_0123456789abcdef.json',
  record: '{"toolName":"tool","args":{},"result":1}',
}

/** An embedding model. */
const EMBEDDER = { model: 'none', embed: (texts: readonly string[]) => texts.map(() => [1]) }

/** Every options object, and all calls that take it. */
const OPTIONS: Readonly<Record<string, readonly Call[]>> = {
  ContextManagerOptions: [call((given, { directory }) => new ContextManager({ contextDir: directory, ...given }))],
  RetentionOptions: [at('retention.', (retention) => new ContextManager({ retention }))],
  OffloadPolicy: [at('offload.', (offload) => new ContextManager({ offload }))],
  OffloadOptions: [
    call((given, { manager }) => manager.offload('tool', {}, 'short', given)),
    at('outputs[0].options.', (options, { manager }) =>
      manager.offloadAll([{ toolName: 'tool', args: {}, result: 'short', options }]),
    ),
  ],
  RecordStreamOptions: [
    at('', (given, { manager }) => manager.recordStream('tool', {}, (async function* () {})(), given)),
  ],
  OffloadAllOptions: [call((given, { manager }) => manager.offloadAll([], given))],
  OffloadValueOptions: [call((given, { manager }) => manager.offloadValue('tool', {}, 'short', given))],
  LatestOptions: [call((given, { manager }) => manager.getLatestPointers(given))],
  SelectOptions: [call((given, { manager }) => manager.selectContexts('query', given))],
  SearchOptions: [call((given, { manager }) => manager.search('query', given))],
  Embedder: [
    at('options.embed.', (embed, { manager }) => manager.search('query', { embed: { ...EMBEDDER, ...embed } })),
  ],
  FindOptions: [call((given, { manager }) => manager.findContext('tool', {}, given))],
  ForgetFilter: [call((given, { manager }) => manager.forget({ toolName: 'none', queryId: 'none', ...given }))],
  ForgetOptions: [call((given, { manager }) => manager.forget({ toolName: 'none' }, given))],
  ContextFiles: [at('files.', (files, { manager }) => manager.importRecord({ ...FILES, ...files }, { dryRun: true }))],
  ImportRecordOptions: [call((given, { manager }) => manager.importRecord(FILES, { dryRun: true, ...given }))],
  SweepOptions: [call((given, { manager }) => manager.sweep({ dryRun: true, ...given }))],
  SliceOptions: [call((given, { manager, saved }) => manager.readContext(saved, given))],
  SliceRange: [
    at('lines.', (lines, { manager, saved }) => manager.readContext(saved, { lines })),
    at('bytes.', (bytes, { manager, saved }) => manager.readContext(saved, { bytes })),
  ],
  GrepOptions: [
    at('grep.', (given, { manager, saved }) => manager.readContext(saved, { grep: { pattern: 'x', ...given } })),
  ],
  GrepContextsOptions: [call((given, { manager }) => manager.grepContexts('x', given))],
  ContextFilter: [at('options.filter.', (filter, { manager }) => manager.grepContexts('x', { filter }))],
  RedactionOptions: [
    call((given) => redact('text', given)),
    call((given) => redactValue({}, given)),
    call((given) => redactStream([], given)),
    at('redaction.', (redaction) => new ContextManager({ redaction })),
    at('redaction.', (redaction) => new ContextHistory({ redaction })),
    at('redaction.', (redaction) => new ContextStore({ agent: 'tester', redaction })),
    at('redaction.', (redaction, { directory }) => RepoMemory.open({ workspace: directory, redaction })),
    at('redaction.', (redaction, { directory }) =>
      searched(RepoMemory.migrate({ fromWorkspace: '/a', workspace: directory, root: directory, redaction })),
    ),
  ],
  RedactionPattern: [
    at('options.patterns[0].', (given) => redact('text', { patterns: [{ name: 'rule', pattern: 'x', ...given }] })),
    at('options.patterns[0].', (given) =>
      redact('text', { patterns: [{ name: 'rule', literals: ['secret'], ...given, pattern: wrong(null) }] }),
    ),
  ],
  CancellationOptions: [
    call((given, { manager }) => manager.listContexts(null, given)),
    call((given, { manager }) => manager.sessions(given)),
    call((given, { history }) => history.verify(given)),
    call((given, { store }) => store.verify(given)),
    call((given, { state }) => state.verify(given)),
    call((given, { state }) => state.stats(given)),
    call((given, { memory }) => searched(memory.symbols('none.ts', given))),
  ],
  ToolRecorderOptions: [call((given, { manager }) => createToolRecorder(manager, given))],
  AutoRecordOptions: [call((given, { history }) => autoRecord(history, given))],
  ReadContextOptions: [call((given, { history }) => readContextTool(history, given))],
  ContextToolsOptions: [call((given, { manager }) => contextTools(manager, given))],
  ContextStoreToolsOptions: [call((given, { store }) => contextStoreTools(store, given))],
  ContextHistoryOptions: [call((given) => new ContextHistory(given))],
  BlobsOptions: [
    at('blobs.', (given) => {
      const blobs = { url: 's3://bucket', ...given }
      return new ContextHistory({ storage: 'postgres://localhost/none', blobs })
    }),
  ],
  StorageOptions: [
    at('storage.', (given) => new ContextHistory({ storage: { url: 'postgres://localhost/none', ...given } })),
  ],
  StorageTlsOptions: [
    at('storage.tls.', (given) => {
      const tls = { ...given, ca: rootCertificates[0] ?? '' }
      return new ContextHistory({ storage: { url: 'postgres://localhost/none', tls } })
    }),
  ],
  CopyStorageOptions: [
    call((given, { directory }) =>
      copyStorage({ ...given, from: { state: `${directory}/none.db` }, to: { state: `${directory}/other.db` } }),
    ),
  ],
  CopyPlaces: [
    at('from.', (given, { directory }) =>
      copyStorage({ from: { ...given, state: `${directory}/none.db` }, to: { state: `${directory}/other.db` } }),
    ),
  ],
  AppendOptions: [
    // `null` is a value of `ifLast`: it holds for an empty history.
    call((given, { directory }) =>
      new ContextHistory({ path: `${directory}/${crypto.randomUUID()}.jsonl` }).append({ toolName: 'x' }, given),
    ),
  ],
  ReadOptions: [call((given, { history }) => history.read(1, given))],
  TailOptions: [
    call(async (given, { history }) => {
      await history.append({ toolName: 'tool' })
      // Without an entry to begin with it would wait for one.
      const entries = history.tail({ ...given, last: 1 })
      await entries.next()
      await entries.return()
    }),
  ],
  HistoryFilter: [call((given, { history }) => history.search(given))],
  CompactPolicy: [call((given, { history }) => history.compact({ keepLast: 1, maxBytes: 1000, ...given }))],
  ContextStoreOptions: [call((given) => new ContextStore({ agent: 'tester', ...given }))],
  StoreFilter: [call((given, { store }) => store.list(given))],
  StoreQuery: [call((given, { store }) => store.search(given))],
  StoreTagFilter: [
    at('filter.tags.', (tags, { store }) => store.list({ tags })),
    at('query.tags.', (tags, { store }) => store.search({ tags })),
  ],
  StoreEntryChange: [call((given, { store, entry }) => store.update(entry, given, 'changed'))],
  UpdateOptions: [call((given, { store, entry }) => store.update(entry, {}, 'changed', given))],
  RelatedOptions: [call((given, { store, entry }) => store.related(entry, given))],
  HousekeepingPolicy: [call((given, { store }) => store.housekeep(given))],
  'RepoMemory.open(options)': [
    call((given, { directory }) => RepoMemory.open({ workspace: directory, ...given })),
    call((given) => RepoMemory.open({ repoHash: 'a'.repeat(64), ...given, workspace: null })),
  ],
  StateStoreOptions: [call((given, { directory }) => new StateStore({ path: `${directory}/other.db`, ...given }))],
  StatePutOptions: [
    // `null` is a value of `ifRevision`: it holds where there is no item.
    call((given, { state }) => state.put(['names'], crypto.randomUUID(), 1, given)),
  ],
  StateValueOptions: [
    call((given, { state }) => state.transaction((view) => view.put(['names'], crypto.randomUUID(), 1, given))),
  ],
  StateDeleteOptions: [call((given, { state }) => state.delete(['names'], crypto.randomUUID(), given))],
  StateOperation: [
    at('operations[0].', (given, { state }) =>
      state.batch([{ type: 'put', namespace: ['names'], key: crypto.randomUUID(), value: 1, ...given }]),
    ),
  ],
  StateListOptions: [call((given, { state }) => state.list([], given))],
  StateSearchOptions: [call((given, { state }) => state.search([], 'words', given))],
  StateNamespacesOptions: [call((given, { state }) => state.namespaces(given))],
  StateTransactionOptions: [call((given, { state }) => state.transaction(() => 1, given))],
  StateWatchOptions: [
    call(async (given, { state }) => {
      const controller = new AbortController()
      const first = state
        .watch([], { signal: controller.signal, ...given })
        [Symbol.asyncIterator]()
        .next()
      await state.put(['names'], crypto.randomUUID(), 1)
      await first
    }),
  ],
  RepoHashOptions: [call((given, { directory }) => RepoMemory.repoHash(directory, given))],
  RepoMemoryMigration: [
    call((given, { directory }) =>
      searched(RepoMemory.migrate({ fromWorkspace: '/a', workspace: directory, root: directory, ...given })),
    ),
  ],
  AppendSummaryOptions: [call((given, { memory }) => memory.appendSummary('run', 'step', 'text', null, given))],
  ContextPackOptions: [
    call((given, { memory }) => memory.buildContextFromMemory(100, given)),
    call((given, { memory }) => memory.workflow('run').step('step', ({ context }) => context(100, given))),
  ],
  RepoMapFocus: [at('repoMap.', (repoMap, { memory }) => memory.buildContextFromMemory(100, { repoMap }))],
  RepoMapOptions: [call((given, { memory }) => memory.repoMap(given))],
  WorkflowStepOptions: [call((given, { memory }) => memory.workflow('run').step('step', () => 'done', given))],
}

/** What is no options object may have other members, which are kept or passed over. */
const DATA: Readonly<Record<string, string>> = {
  ContextEntryInput: 'an entry',
  NewStoreEntry: 'an entry',
  ConventionInput: 'a record',
  DecisionInput: 'a record',
  NoteInput: 'a record',
  StepSummary: 'a record',
  ToolOutcome: 'an outcome of a tool, as an agent has it',
  ToolOutput: 'an output of a tool, as an agent has it',
  ToolResult: 'an answer of a tool',
  RecordedCall: 'a call that a framework reports',
  SaveOptions: 'an outcome of a tool, as an agent has it',
  ToolResponse: 'an output of a tool, as an agent has it',
  ToolExecutionResult: 'an outcome of a tool, as an agent has it',
  ToolCallContext: 'an event, as an agent has it',
  SelectablePointer: 'a pointer',
  StateComparison: 'operators, whose names are near each other: see state-store.test.ts',
  ContextStoreConfig: 'the configuration of an application',
  'ContextStoreConfig.contextStore': 'the configuration of an application',
  'HousekeepingPolicy.retention[key]': 'what an agent declares about itself',
}

/** A required member that has to have a value. */
const isNeeded = (type: string, name: string): boolean =>
  types.get(type)?.some((member) => member.name === name && !member.isOptional) ?? false

/** Slips of a finger: a letter left out, doubled or replaced, two swapped, another case. */
function misspellings(name: string): string[] {
  const middle = Math.floor(name.length / 2)
  const [start, end] = [name.slice(0, middle), name.slice(middle)]
  const slips = [
    start + end.slice(1),
    `${start}${end.charAt(0)}${end}`,
    `${start}x${end.slice(1)}`,
    `${name.slice(0, middle - 1)}${name.charAt(middle)}${name.charAt(middle - 1)}${name.slice(middle + 1)}`,
    name.toLowerCase(),
    name.toUpperCase(),
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  ]
  return [...new Set(slips)].filter((slip) => slip !== '')
}

async function refusalOf({ make }: Call, given: Given, world: World): Promise<string> {
  let result: unknown
  try {
    result = make(given, world)
  } catch (error) {
    return messageOf(error)
  }
  try {
    await result
  } catch (error) {
    return messageOf(error)
  }
  assert.fail(`accepted ${JSON.stringify(Object.keys(given))}`)
}

function messageOf(error: unknown): string {
  assert.equal((error as ContextError).code, 'ERR_CONTEXT_INVALID_ARGUMENT', (error as Error).stack)
  return (error as Error).message
}

const types: PublicTypes = publicTypes()
let world: World
let leave = (): void => {}

before(async () => {
  const ready = new Promise<void>((resolve, reject) => {
    inDirectory(async (directory) => {
      mkdirSync(join(directory, 'workspace'))
      const manager = new ContextManager({ contextDir: join(directory, 'contexts') })
      const store = new ContextStore({ agent: 'tester', path: join(directory, 'store') })
      const memory = await RepoMemory.open({ workspace: join(directory, 'workspace'), root: join(directory, 'root') })
      const history = new ContextHistory({ path: join(directory, 'history.jsonl') })
      world = {
        directory,
        manager,
        saved: await manager.saveContext('tool', {}, 'text'),
        history,
        store,
        entry: (await store.write({ type: 'finding', slug: 'a', content: 'text' })).path,
        memory,
        state: new StateStore({ path: join(directory, 'state.db') }),
      }
      const left = new Promise<void>((resolve) => {
        leave = resolve
      })
      resolve()
      await left
      await world.state.close()
      await manager.clear()
    }).catch(reject)
  })
  await ready
})

after(() => leave())

describe('options objects', () => {
  test('are all known to this test', () => {
    assert.deepEqual([...types.keys()].sort(), [...Object.keys(OPTIONS), ...Object.keys(DATA)].sort())
  })

  test('declare that every optional member may be undefined or null', () => {
    const without = [...types].flatMap(([type, members]) =>
      members.filter((member) => member.isOptional && !member.mayBeAbsent).map((member) => `${type}.${member.name}`),
    )
    assert.deepEqual(without, [])
  })

  for (const [type, calls] of Object.entries(OPTIONS)) {
    const names = (types.get(type) ?? []).map(({ name }) => name)

    test(`${type}: undefined and null mean absent for every known name`, PATIENT, async () => {
      for (const { make } of calls) {
        for (const name of names.filter((name) => !isNeeded(type, name))) {
          await make({ [name]: undefined }, world)
          await make({ [name]: null }, world)
        }
        // Unknown names that are absent are absent.
        await make({ wombatWombat: undefined, persistTreshold: null }, world)
      }
    })

    test(`${type}: a misspelt name is refused, and the nearest one named`, PATIENT, async () => {
      for (const one of calls) {
        for (const name of names) {
          for (const slip of misspellings(name).filter((slip) => !names.includes(slip))) {
            assert.equal(
              await refusalOf(one, { [slip]: true }, world),
              `unknown option '${one.place}${slip}': did you mean '${name}'?`,
            )
          }
        }
      }
    })

    test(`${type}: a name that is like none gets no suggestion`, PATIENT, async () => {
      for (const one of calls) {
        for (const name of ['wombatWombat', 'constructor', '__proto__', '']) {
          const given = Object.fromEntries([[name, 1]])
          const message = await refusalOf(one, given, world)
          holds(message.startsWith(`unknown option '${one.place}${name}': `), message)
          assert.doesNotMatch(message, /did you mean/)
          holds(
            names.length > 8 ? message.includes('see the type') : names.every((known) => message.includes(known)),
            message,
          )
        }
      }
    })
  }

  test('asynchronous methods reject, constructors and synchronous functions throw', async () => {
    const { manager, history, store } = world
    throwsWith(() => new ContextManager(wrong({ persistTreshold: 1 })), 'ERR_CONTEXT_INVALID_ARGUMENT')
    throwsWith(() => manager.getLatestPointers(wrong({ limits: 1 })), 'ERR_CONTEXT_INVALID_ARGUMENT')
    await rejectsWith(() => manager.search('query', wrong({ limits: 1 })), 'ERR_CONTEXT_INVALID_ARGUMENT')
    await rejectsWith(() => history.read(1, wrong({ maxByte: 1 })), 'ERR_CONTEXT_INVALID_ARGUMENT')
    await rejectsWith(() => store.housekeep(wrong({ olderThen: '1d' })), 'ERR_CONTEXT_INVALID_ARGUMENT')
    await rejectsWith(() => RepoMemory.open(wrong({ workspaces: '.' })), 'ERR_CONTEXT_INVALID_ARGUMENT')
  })

  test('the first specification spells an option differently', () => {
    for (const make of [
      () => new ContextHistory(wrong({ filesystem: {} })),
      () => new ContextManager(wrong({ filesystem: {} })),
      () => new ContextStore(wrong({ agent: 'tester', filesystem: {} })),
    ]) {
      const { message } = throwsWith(make, 'ERR_CONTEXT_INVALID_ARGUMENT')
      assert.equal(message, "unknown option 'filesystem': did you mean 'fileSystem'?")
    }
  })

  test('an array is no options object', async () => {
    throwsWith(() => new ContextManager(wrong([])), 'ERR_CONTEXT_INVALID_ARGUMENT', /^options must be an object/)
    await rejectsWith(
      () => world.history.search(wrong([])),
      'ERR_CONTEXT_INVALID_ARGUMENT',
      /^filter must be an object/,
    )
  })

  test('an unknown name shows in the message without secrets, and cut', () => {
    const { message } = throwsWith(
      () => new ContextManager(wrong({ [`api_key=${'Zx9'.repeat(12)}\n${'long '.repeat(1000)}`]: 1 })),
      'ERR_CONTEXT_INVALID_ARGUMENT',
    )
    holds(message.length < 200 && !message.includes('\n') && !message.includes('Zx9Zx9Zx9'), message)
  })

  test('inherited and symbolic members do not count', () => {
    const given = Object.assign(Object.create({ inherited: 1 }), { [Symbol('own')]: 1 })
    new ContextManager(given)
  })
})

describe('data objects', () => {
  const strange = { wombatWombat: 1 }

  test('keep or pass over members that are not known', async () => {
    const { manager, history, store, memory } = world
    await manager.saveContext('tool', {}, 'x', null, null, { success: true, ...strange })
    await manager.offloadAll([{ toolName: 'tool', args: {}, result: 'x', ...strange }])
    manager.selectRelevantContexts('x', [{ filepath: 'a', ...strange }])
    const appended = await history.append({ toolName: 'tool', ...strange })
    assert.equal(appended['wombatWombat'], 1)
    const entry = await store.write({ type: 'finding', slug: 'b', content: 'text', ...strange })
    await memory.upsertConvention({ title: 'Tests', content: 'text', ...strange })
    await memory.upsertDecision({ summary: 'text', ...strange })
    await memory.upsertNote({ content: 'text', ...strange })
    summariseStep({ happened: 'text', ...strange })
    new ContextStore({ agent: 'tester', config: { ...strange, contextStore: { path: '', ...strange } } })
    await store.housekeep({ dryRun: true, retention: { tester: { contextRetention: '1d', ...strange } } })
    const recorder = createToolRecorder(manager)
    const context = { traceId: '1', spanId: '2', ...strange }
    recorder.onToolEnd(
      context,
      'tool',
      { success: true, result: 1, message: '', ...strange },
      { success: true, ...strange },
    )
    await recorder.flush()
    // An entry that was read and changed may be given back whole.
    const updated = await store.update(entry.path, { ...entry, content: 'another' }, 'changed')
    assert.equal(updated.content, 'another')
  })
})
