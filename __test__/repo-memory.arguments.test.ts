/** Wrong arguments of `RepoMemory`: refused with the parameter's name, before anything happens. */

import assert from 'node:assert/strict'
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { DEFAULT_REPO_MEMORY_ROOT, RepoMemory, summariseStep } from '../dist/index.js'
import { checkRepoOptions } from '../lib/repo/options.ts'
import { inDirectory, rejectsWith, throwsWith, wrong } from './support/fixtures.ts'
import { HASH, memoryIn, memoryOf } from './support/memories.ts'
import { holds } from './support/processes.ts'
import { existsSync } from './support/stored-files.ts'

type Call = (memory: RepoMemory) => Promise<unknown>
type Case = [call: Call, message: RegExp]

const ID = '8b0f5e0c-6f0f-4d0c-9d53-0d2f5c3e7a11'
const LONG = 'x'.repeat(65_537)

const convention = (input: unknown, message: RegExp): Case => [
  (memory) => memory.upsertConvention(wrong(input)),
  message,
]
const decision = (input: unknown, message: RegExp): Case => [(memory) => memory.upsertDecision(wrong(input)), message]
const note = (input: unknown, message: RegExp): Case => [(memory) => memory.upsertNote(wrong(input)), message]
const pack = (options: unknown, message: RegExp): Case => [
  (memory) => memory.buildContextFromMemory(100, wrong(options)),
  message,
]
const map = (options: unknown, message: RegExp): Case => [(memory) => memory.repoMap(wrong(options)), message]
const summary = (parameters: readonly unknown[], message: RegExp): Case => [
  (memory) => (memory.appendSummary as (...parameters: readonly unknown[]) => Promise<unknown>)(...parameters),
  message,
]
const step = (parameters: readonly unknown[], message: RegExp): Case => [
  (memory) => (memory.workflow('run').step as (...parameters: readonly unknown[]) => Promise<unknown>)(...parameters),
  message,
]
const nothing = (): void => {}

const CASES: Case[] = [
  convention(undefined, /^input must be an object/),
  convention('tests', /^input must be an object/),
  convention({ id: 5, title: 't', content: 'c' }, /^id must be a non-empty string/),
  convention({ id: '', title: 't', content: 'c' }, /^id must be a non-empty string/),
  convention({ id: 'first', title: 't', content: 'c' }, /^id must be a UUID/),
  convention({ title: 5, content: 'c' }, /^title must be a string/),
  convention({ title: ' ', content: 'c' }, /^title must not be empty/),
  convention({ title: 'a\nb', content: 'c' }, /^title must be on one line/),
  convention({ title: 'x'.repeat(301), content: 'c' }, /^title must have at most 300 bytes/),
  convention({ title: 't' }, /^content is needed for a new convention/),
  convention({ content: 'c' }, /^title is needed for a new convention/),
  convention({}, /^title is needed for a new convention/),
  convention({ title: 't', content: 5 }, /^content must be a string/),
  convention({ title: 't', content: ' \n' }, /^content must not be empty/),
  convention({ title: 't', content: 'c', tags: 'a' }, /^tags must be an array/),
  convention({ title: 't', content: 'c', tags: ['a', 5] }, /^tags\[1\] must be a non-empty string of one line/),
  convention({ title: 't', content: 'c', tags: [' '] }, /^tags\[0\] must be/),
  convention({ title: 't', content: 'c', tags: ['a\u2028b'] }, /^tags\[0\] must be/),
  convention({ title: 't', content: 'c', tags: Array(201).fill('a') }, /^tags must have at most 200 items/),
  decision(null, /^input must be an object/),
  decision({}, /^summary is needed for a new decision/),
  decision({ summary: 5 }, /^summary must be a string/),
  decision({ summary: '' }, /^summary must not be empty/),
  decision({ summary: 's', rationale: {} }, /^rationale must be a string/),
  decision({ summary: 's', impactedPaths: 'src' }, /^impactedPaths must be an array/),
  decision({ summary: 's', impactedPaths: [''] }, /^impactedPaths\[0\] must be a non-empty string/),
  decision({ summary: 's', impactedPaths: ['a\nb'] }, /^impactedPaths must be on one line/),
  decision({ summary: 's', id: 'd1' }, /^id must be a UUID/),
  note([], /^content is needed for a new note/),
  note({ content: 5 }, /^content must be a string/),
  note({ content: 'c', source: 'model' }, /^source must be 'manual', 'agent' or 'tool'/),
  note({ content: 'c', source: ['agent'] }, /^source must be/),
  note({ source: 'tool' }, /^content is needed for a new note/),
  [(memory) => memory.remove(wrong('summary'), ID), /^kind must be 'convention', 'decision' or 'note'/],
  [(memory) => memory.remove(wrong(undefined), ID), /^kind must be/],
  [(memory) => memory.remove('note', ''), /^id must be a non-empty string/],
  [(memory) => memory.remove('note', wrong(5)), /^id must be a non-empty string/],
  summary([], /^runId must be a non-empty string/),
  summary(['', 's', 't'], /^runId must be a non-empty string/),
  summary([' ', 's', 't'], /^runId must be a non-empty line of at most 300 bytes/),
  summary(['a\nb', 's', 't'], /^runId must be a non-empty line/),
  summary(['é'.repeat(151), 's', 't'], /^runId must be a non-empty line of at most 300 bytes/),
  summary(['r', 5, 't'], /^stepId must be a non-empty string/),
  summary(['r', 's\r', 't'], /^stepId must be a non-empty line/),
  summary(['r', 's', undefined], /^summaryText must be a string/),
  summary(['r', 's', ['t']], /^summaryText must be a string/),
  summary(['r', 's', ''], /^summaryText must not be empty/),
  summary(['r', 's', 't', 'tag'], /^tags must be an array/),
  summary(['r', 's', 't', ['a', '']], /^tags\[1\] must be/),
  summary(
    ['r', 's', 't', Array.from({ length: 51 }, (_, tag) => `${tag}`)],
    /^tags must be an array of at most 50 strings of at most 300 bytes/,
  ),
  summary(['r', 's', 't', ['é'.repeat(151)]], /^tags must be an array of at most 50 strings/),
  [(memory) => memory.buildContextFromMemory(wrong(undefined)), /^maxChars must be a whole number from 0 up, or Inf/],
  [(memory) => memory.buildContextFromMemory(wrong(null)), /^maxChars must be/],
  [(memory) => memory.buildContextFromMemory(-1), /^maxChars must be/],
  [(memory) => memory.buildContextFromMemory(1.5), /^maxChars must be/],
  [(memory) => memory.buildContextFromMemory(Number.NaN), /^maxChars must be/],
  [(memory) => memory.buildContextFromMemory(wrong('100')), /^maxChars must be/],
  pack('query', /^options must be an object/),
  pack({ query: 5 }, /^query must be a string/),
  pack({ latestSummaries: -1 }, /^latestSummaries must be a whole number from 0 up/),
  pack({ latestSummaries: 1.5 }, /^latestSummaries must be/),
  pack({ latestSummaries: '10' }, /^latestSummaries must be/),
  pack({ repoMap: 'yes' }, /^repoMap must be true, false, or \{ focus \}/),
  pack({ repoMap: { focus: 'src' } }, /^repoMap\.focus must be an array/),
  pack({ repoMap: { focus: ['src', ''] } }, /^repoMap\.focus\[1\] must be/),
  pack({ maxTokens: 10 }, /^maxTokens and countTokens are needed together/),
  pack({ countTokens: () => 1 }, /^maxTokens and countTokens are needed together/),
  pack({ maxTokens: -1, countTokens: () => 1 }, /^maxTokens must be a whole number from 0 up/),
  pack({ maxTokens: '10', countTokens: () => 1 }, /^maxTokens must be/),
  pack({ maxTokens: 10, countTokens: 4 }, /^countTokens must be a function/),
  pack({ signal: {} }, /^signal must be an AbortSignal/),
  map('all', /^options must be an object/),
  map({ maxChars: -1 }, /^maxChars must be/),
  map({ maxChars: '8000' }, /^maxChars must be/),
  map({ focus: 'src' }, /^focus must be an array/),
  map({ focus: [5] }, /^focus\[0\] must be/),
  map({ onProgress: 'log' }, /^onProgress must be a function/),
  map({ signal: true }, /^signal must be an AbortSignal/),
  [(memory) => memory.symbols(wrong(undefined)), /^path must be a non-empty path/],
  [(memory) => memory.symbols(''), /^path must be/],
  [(memory) => memory.symbols('a\0b'), /^path must be/],
  [(memory) => memory.symbols('a.ts', wrong({ signal: {} })), /^signal must be an AbortSignal/],
  [(memory) => memory.symbols('a.ts', wrong('now')), /^options must be an object/],
  step([], /^stepId must be a non-empty string/),
  step(['a\nb', nothing], /^stepId must be a non-empty line/),
  step(['s'], /^run must be a function/),
  step(['s', {}], /^run must be a function/),
  step(['s', nothing, 'tag'], /^options must be an object/),
  step(['s', nothing, { summarise: 'short' }], /^summarise must be a function/),
  step(['s', nothing, { tags: 'a' }], /^tags must be an array/),
  step(['s', nothing, { tags: [''] }], /^tags\[0\] must be/),
]

const OPENINGS: [options: unknown, message: RegExp][] = [
  [undefined, /^options must be an object/],
  ['.', /^options must be an object/],
  [{}, /^either workspace or repoHash is needed, and not both/],
  [{ workspace: '.', repoHash: HASH }, /^either workspace or repoHash is needed, and not both/],
  [{ workspace: null, repoHash: undefined }, /^either workspace or repoHash/],
  [{ workspace: 5 }, /^workspace must be a non-empty path/],
  [{ workspace: '' }, /^workspace must be/],
  [{ workspace: 'a\0b' }, /^workspace must be/],
  [{ workspace: 'a\ud800' }, /^workspace must be a path without halves of characters/],
  [{ repoHash: 5 }, /^repoHash must be 64 lower-case hexadecimal digits/],
  [{ repoHash: '' }, /^repoHash must be/],
  [{ repoHash: HASH.toUpperCase() }, /^repoHash must be/],
  [{ repoHash: HASH.slice(1) }, /^repoHash must be/],
  [{ repoHash: `${HASH}\n` }, /^repoHash must be/],
  [{ repoHash: `../${HASH.slice(3)}` }, /^repoHash must be/],
  [{ repoHash: HASH, root: 5 }, /^root must be a non-empty path/],
  [{ repoHash: HASH, root: '' }, /^root must be/],
  [{ repoHash: HASH, branchScope: 'branch' }, /^branchScope must be 'perBranch' or 'sharedRepo'/],
  [{ repoHash: HASH, durability: 'none' }, /^durability must be 'process' or 'full'/],
  [{ repoHash: HASH, lockTimeout: -1 }, /^lockTimeout must be/],
  [{ repoHash: HASH, lockTimeout: '5s' }, /^lockTimeout must be/],
  [{ repoHash: HASH, maxSummaries: 0 }, /^maxSummaries must be a whole number from 1 up, or Infinity/],
  [{ repoHash: HASH, maxSummaries: 1.5 }, /^maxSummaries must be/],
  [{ repoHash: HASH, maxSummaryBytes: '1MB' }, /^maxSummaryBytes must be a whole number from 1 up/],
  [{ repoHash: HASH, redaction: 'none' }, /^redaction must be false or an object/],
  [{ repoHash: HASH, onDebug: 'log' }, /^onDebug must be a function/],
]

const MIGRATIONS: [options: unknown, message: RegExp][] = [
  [undefined, /^options must be an object/],
  [{ workspace: '.' }, /^either fromWorkspace or fromRepoHash is needed, and not both/],
  [{ workspace: '.', fromWorkspace: '.', fromRepoHash: HASH }, /^either fromWorkspace or fromRepoHash/],
  [{ workspace: '.', fromWorkspace: 5 }, /^fromWorkspace must be/],
  [{ workspace: '.', fromRepoHash: 'abc' }, /^fromRepoHash must be 64/],
  [{ fromRepoHash: HASH }, /^workspace must be/],
  [{ fromRepoHash: HASH, workspace: '' }, /^workspace must be/],
  [{ fromRepoHash: HASH, workspace: '.', root: 5 }, /^root must be/],
  [{ fromRepoHash: HASH, workspace: '.', branchScope: true }, /^branchScope must be/],
  [{ fromRepoHash: HASH, workspace: '.', durability: true }, /^durability must be/],
  [{ fromRepoHash: HASH, workspace: '.', lockTimeout: 0.5 }, /^lockTimeout must be/],
  [{ fromRepoHash: HASH, workspace: '.', maxSummaries: -1 }, /^maxSummaries must be/],
  [{ fromRepoHash: HASH, workspace: '.', redaction: 5 }, /^redaction must be/],
]

describe('wrong arguments of a repository memory', () => {
  it('reject with their names, and nothing is written', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      for (const [call, message] of CASES) {
        await rejectsWith(() => call(memory), 'ERR_CONTEXT_INVALID_ARGUMENT', message)
      }
      assert.deepEqual(await memory.getRepoMemory(), { conventions: [], decisions: [], notes: [], summaries: [] })
      assert.equal(existsSync(join(memory.directory, 'memory.json')), false)
      assert.equal(existsSync(join(memory.directory, 'summaries.jsonl')), false)
    }))

  it('reject when a memory is opened or moved, or a hash is asked for', () =>
    inDirectory(async (directory) => {
      for (const [options, message] of OPENINGS) {
        await rejectsWith(() => RepoMemory.open(wrong(options)), 'ERR_CONTEXT_INVALID_ARGUMENT', message)
      }
      for (const [options, message] of MIGRATIONS) {
        await rejectsWith(() => RepoMemory.migrate(wrong(options)), 'ERR_CONTEXT_INVALID_ARGUMENT', message)
      }
      for (const [parameters, message] of [
        [[], /^workspace must be/],
        [[5], /^workspace must be/],
        [[directory, 'perBranch'], /^options must be an object/],
        [[directory, { branchScope: 'none' }], /^branchScope must be/],
      ] as [unknown[], RegExp][]) {
        const call = RepoMemory.repoHash as (...parameters: unknown[]) => Promise<string>
        await rejectsWith(() => call(...parameters), 'ERR_CONTEXT_INVALID_ARGUMENT', message)
      }
      const missing = join(directory, 'missing')
      await rejectsWith(() => RepoMemory.open({ workspace: missing }), 'ERR_CONTEXT_NOT_FOUND', /missing/)
      await rejectsWith(() => RepoMemory.repoHash(missing), 'ERR_CONTEXT_NOT_FOUND', /missing/)
    }))

  it('throw in workflow(), summariseStep() and the constructor', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      for (const runId of [undefined, '', ' ', 'a\nb', 5, 'x'.repeat(301)]) {
        throwsWith(() => memory.workflow(wrong(runId)), 'ERR_CONTEXT_INVALID_ARGUMENT', /^runId must be/)
      }
      for (const [value, message] of [
        [undefined, /^step must be an object/],
        ['done', /^step must be an object/],
        [{}, /^step\.happened must be a non-empty string/],
        [{ happened: '' }, /^step\.happened must be/],
        [{ happened: 'x', outputs: 'a' }, /^step\.outputs must be an array of strings, or an object/],
        [{ happened: 'x', outputs: [5] }, /^step\.outputs\[0\] must be a string/],
        [{ happened: 'x', followUps: { a: 1 } }, /^step\.followUps must be an array/],
        [{ happened: 'x', followUps: [null] }, /^step\.followUps\[0\] must be a string/],
      ] as [unknown, RegExp][]) {
        throwsWith(() => summariseStep(wrong(value)), 'ERR_CONTEXT_INVALID_ARGUMENT', message)
      }
      const Public = RepoMemory as unknown as new (options: unknown) => RepoMemory
      throwsWith(() => new Public({ workspace: '.' }), 'ERR_CONTEXT_INVALID_ARGUMENT', /use await RepoMemory\.open/)
    }))

  it('that are too long reject before they cross', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      const calls: [name: string, call: () => Promise<unknown>][] = [
        ['title', () => memory.upsertConvention({ title: LONG, content: 'c' })],
        ['content', () => memory.upsertConvention({ title: 't', content: LONG })],
        ['summary', () => memory.upsertDecision({ summary: LONG })],
        ['rationale', () => memory.upsertDecision({ summary: 's', rationale: LONG })],
        ['content', () => memory.upsertNote({ content: LONG })],
        // So many characters, but more bytes.
        ['content', () => memory.upsertNote({ content: 'é'.repeat(40_000) })],
        ['summaryText', () => memory.appendSummary('r', 's', LONG)],
      ]
      for (const [name, call] of calls) {
        await rejectsWith(call, 'ERR_CONTEXT_TOO_LARGE', new RegExp(`^${name} takes`))
      }
    }))

  it('that throw while they are read reject with a code', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      const hostile = new Proxy(
        {},
        {
          get() {
            throw new Error('a getter that throws')
          },
        },
      )
      for (const call of [
        () => RepoMemory.open(wrong(hostile)),
        () => RepoMemory.migrate(wrong(hostile)),
        () => RepoMemory.repoHash('.', wrong(hostile)),
        () => memory.upsertConvention(wrong(hostile)),
        () => memory.upsertDecision(wrong(hostile)),
        () => memory.upsertNote(wrong(hostile)),
        () => memory.buildContextFromMemory(100, wrong(hostile)),
        () => memory.repoMap(wrong(hostile)),
        () => memory.symbols('a.ts', wrong(hostile)),
      ]) {
        const error = await rejectsWith(call, 'ERR_CONTEXT_INVALID_ARGUMENT')
        assert.equal((error.cause as Error).message, 'a getter that throws')
      }
    }))
})

describe('absent arguments of a repository memory', () => {
  it('have the defaults that the types name', () => {
    assert.equal(DEFAULT_REPO_MEMORY_ROOT, '~/.codex-toolloop')
    assert.deepEqual(checkRepoOptions({}), {
      root: join(homedir(), '.codex-toolloop'),
      isDurable: true,
      lockTimeout: 10_000,
      maxSummaries: 100,
      maxSummaryBytes: 1_048_576,
      trustLocks: false,
      allowShared: false,
      hasDebug: false,
    })
    assert.equal(checkRepoOptions({ durability: 'process' }).isDurable, false)
    assert.equal(checkRepoOptions({ root: 'here' }).root, join(process.cwd(), 'here'))
    assert.equal(checkRepoOptions({ maxSummaries: Number.POSITIVE_INFINITY }).maxSummaries, Number.MAX_SAFE_INTEGER)
  })

  it('may be undefined or null', () =>
    inDirectory(async (root) => {
      const names = [
        'branchScope',
        'durability',
        'lockTimeout',
        'maxSummaries',
        'maxSummaryBytes',
        'redaction',
        'onDebug',
      ]
      for (const [index, absent] of [undefined, null].entries()) {
        const none = (keys: readonly string[]): Record<string, unknown> =>
          Object.fromEntries(keys.map((key) => [key, absent]))
        const place = join(root, String(index))
        const memory = await RepoMemory.open(wrong({ ...none(names), workspace: absent, repoHash: HASH, root: place }))
        const convention = await memory.upsertConvention(wrong({ ...none(['id', 'tags']), title: 't', content: 'c' }))
        assert.deepEqual(convention.tags, [])
        assert.deepEqual(
          await memory.upsertConvention(wrong({ ...none(['title', 'content', 'tags']), id: convention.id })),
          convention,
        )
        const decision = await memory.upsertDecision(
          wrong({ ...none(['id', 'rationale', 'impactedPaths']), summary: 's' }),
        )
        assert.deepEqual([decision.rationale, decision.impactedPaths], ['', []])
        const { source } = await memory.upsertNote(wrong({ ...none(['id', 'source']), content: 'c' }))
        assert.equal(source, 'manual')
        assert.equal('tags' in (await memory.appendSummary('r', 's', 't', wrong(absent))), false)
        const options = none(['query', 'latestSummaries', 'repoMap', 'maxTokens', 'countTokens', 'signal'])
        const text = await memory.buildContextFromMemory(1000, wrong(options))
        assert.equal(await memory.buildContextFromMemory(1000, wrong(absent)), text)
        holds(text.includes('**r / s**'), text)
        const step = await memory.workflow('r').step('s2', () => 5, wrong(none(['summarise', 'tags'])))
        assert.equal(step, 5)
        assert.equal(await memory.workflow('r').step('s3', () => 6, wrong(absent)), 6)
        assert.equal(summariseStep(wrong({ happened: 'x', ...none(['outputs', 'followUps']) })), 'x')
      }
    }))

  it('of a map and of what opens by a folder may be as well', () =>
    inDirectory(async (directory) => {
      for (const absent of [undefined, null]) {
        const options = { repoHash: absent, branchScope: absent, durability: absent }
        const memory = await memoryOf(directory, join(directory, 'root'), wrong(options))
        const map = await memory.repoMap(wrong({ maxChars: absent, focus: absent, onProgress: absent, signal: absent }))
        assert.deepEqual(map, await memory.repoMap(wrong(absent)))
        assert.equal(await RepoMemory.repoHash(directory, wrong(absent)), memory.repoHash)
      }
    }))
})
