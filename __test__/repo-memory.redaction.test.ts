/** What a repository memory writes passed redaction: every field of every entry point, its files, reports, answers. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type RedactionReport, RepoMemory, type RepoMemoryOptions } from '../dist/index.js'
import { debugLog, inDirectory, only, rejectsWith } from './support/fixtures.ts'
import {
  memoryFile,
  memoryIn,
  memoryOf,
  plant,
  plantMemory,
  plantRepository,
  summariesFile,
  textOf,
} from './support/memories.ts'
import { holds } from './support/processes.ts'
import { Canaries, everythingBelow, randomText } from './support/secrets.ts'
import { withEnvironment } from './support/stores.ts'

const LABEL = /\[REDACTED:[\w.-]+\]/

/** Everything that can be said to a memory, with a secret in each part of it. */
async function say(memory: RepoMemory, secret: () => string): Promise<unknown[]> {
  const convention = await memory.upsertConvention({
    title: `Keys ${secret()}`,
    content: `Deploy with GITHUB_TOKEN=${secret()}\nand ${secret()}`,
    tags: ['plain', secret()],
  })
  const decision = await memory.upsertDecision({
    summary: `Use ${secret()}`,
    rationale: `because ${secret()}`,
    impactedPaths: [`src/${secret()}.ts`],
  })
  const note = await memory.upsertNote({ content: `note ${secret()}`, source: 'tool' })
  const changed = await memory.upsertNote({ id: note.id, content: `changed ${secret()}` })
  const summary = await memory.appendSummary(`run ${secret()}`, `step ${secret()}`, `did ${secret()}`, [secret()])
  const workflow = memory.workflow(`run ${secret()}`)
  await workflow.step(`one ${secret()}`, () => `made ${secret()}`, { tags: [secret()] })
  await workflow.step('two', () => ({ happened: secret(), outputs: { a: secret() }, followUps: [secret()] }))
  await workflow.step('three', () => ({ value: { deep: [secret()] } }))
  await workflow.step('four', () => Promise.reject(new Error(`no access with ${secret()}`))).catch(() => undefined)
  await workflow.step('five', () => 5, { summarise: () => `five ${secret()}` })
  return [convention, decision, note, changed, summary]
}
const REPORTS = 4 + 1 + 5

for (const durability of ['process', 'full'] as const) {
  describe(`a secret on its way to a repository memory, durability ${durability}`, () => {
    const open = (root: string, more: RepoMemoryOptions = {}): Promise<RepoMemory> =>
      memoryIn(root, { durability, ...more })

    it('does not arrive, and is in nothing that comes back', () =>
      inDirectory(async (root) => {
        const canaries = new Canaries()
        const log = debugLog()
        const reports: RedactionReport[] = []
        const onRedaction = (report: RedactionReport): void => {
          reports.push(report)
          throw new Error('what is thrown here is swallowed')
        }
        const memory = await open(root, { onDebug: log, redaction: { onRedaction } })
        const answers = await say(memory, () => canaries.token())
        const query = canaries.token()
        const back = {
          everything: everythingBelow(root),
          answers: JSON.stringify(answers),
          contents: JSON.stringify(await memory.getRepoMemory()),
          pack: await memory.buildContextFromMemory(100_000, { query }),
          reports: JSON.stringify(reports),
          log: JSON.stringify(log.entries),
        }
        for (const [where, text] of Object.entries(back)) {
          canaries.assertAbsent(text, where)
        }
        for (const where of ['everything', 'answers', 'contents', 'pack'] as const) {
          assert.match(back[where], LABEL, where)
        }
        holds(canaries.count > 20, `${canaries.count} secrets`)
        for (const path of [memoryFile(memory), summariesFile(memory)]) {
          assert.match(textOf(path), LABEL, path)
        }
        const { conventions, decisions, notes } = await memory.getRepoMemory()
        assert.deepEqual([only(conventions).tags[0], only(notes).source], ['plain', 'tool'])
        assert.equal(reports.length, REPORTS)
        const ids = [only(conventions).id, only(decisions).id, only(notes).id, only(notes).id]
        for (const [index, { kind, filepath, entryId, findings, ...rest }] of reports.entries()) {
          const expected =
            index < 4
              ? ['memoryRecord', memoryFile(memory), ids[index]]
              : ['memorySummary', summariesFile(memory), undefined]
          assert.deepEqual([kind, filepath, entryId, rest], [...expected, {}])
          holds(
            findings.length > 0 && findings.every(({ rule, count }) => rule !== '' && count > 0),
            JSON.stringify(findings),
          )
        }
      }))

    it('arrives with redaction: false', () =>
      inDirectory(async (root) => {
        const canaries = new Canaries()
        const memory = await open(root, { redaction: false })
        const secret = (): string => canaries.token()
        const { content } = await memory.upsertNote({ content: secret() })
        const { runId, summary } = await memory.appendSummary(secret(), 's', secret())
        await memory.workflow('run').step('one', () => `made ${secret()} ${'long '.repeat(20_000)}`)
        canaries.assertPresent(content + runId + summary + everythingBelow(root), 'the memory')
        canaries.assertPresent(JSON.stringify(await memory.getRepoMemory()), 'what is read')
        assert.doesNotMatch(everythingBelow(root), LABEL)
      }))
  })
}

describe('redaction of a repository memory', () => {
  it('keeps the credentials of a remote out', () =>
    inDirectory(async (directory) => {
      const canaries = new Canaries()
      const [user, password, key] = [randomText(12), canaries.plant(randomText(20)), canaries.token()]
      for (const [number, remote] of [
        `https://${user}:${password}@github.com/owner/name.git`,
        `https://${key}@github.com/owner/name.git`,
        `https://github.com/owner/name.git?access_token=${key}`,
        `ssh://git:${password}@git.example.com:22/owner/name`,
      ].entries()) {
        const workspace = plantRepository(join(directory, `clone-${number}`), { remote })
        const root = join(directory, `root-${number}`)
        const log = debugLog()
        const memory = await memoryOf(workspace, root, { onDebug: log })
        await memory.upsertNote({ content: 'something' })
        await memory.appendSummary('r', 's', 't')
        await memory.repoMap()
        const { repository } = JSON.parse(textOf(memoryFile(memory))) as { repository: Record<string, string> }
        holds(/owner\/name/.test(repository['remote'] ?? ''), JSON.stringify(repository))
        canaries.assertAbsent(everythingBelow(root), remote.replaceAll(/\w{12,}/g, '…'))
        canaries.assertAbsent(JSON.stringify([log.entries, memory.workspace, memory.directory]), 'what it tells')
      }
    }))

  it('keeps the names of branches and folders out that hold a secret', () =>
    inDirectory(async (directory) => {
      const canaries = new Canaries()
      const workspace = plantRepository(join(directory, 'clone'), {
        remote: 'https://github.com/owner/name',
        branch: `fix-${canaries.token()}`,
      })
      const root = join(directory, 'root')
      const memory = await memoryOf(workspace, root)
      await memory.upsertNote({ content: 'something' })
      canaries.assertAbsent(everythingBelow(root), 'the memory')
    }))

  it('finds a query as it would be stored', () =>
    inDirectory(async (root) => {
      const canaries = new Canaries()
      const memory = await memoryIn(root)
      for (let number = 0; number < 10; number++) {
        await memory.upsertNote({ content: `plain ${number}` })
      }
      const secret = canaries.token()
      await memory.upsertNote({ content: `the key ${secret}` })
      const text = await memory.buildContextFromMemory(120, { query: secret })
      assert.match(text, /^## Notes\n- the key \[REDACTED/)
    }))

  it('knows the secrets of the environment as they are at the call', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      const own = await memoryIn(root, { redaction: {} })
      const blind = await memoryIn(root, { redaction: { environment: false } })
      const value = ['Zq7', 'wv9Xk2Lm4Tr8'].join('')
      await withEnvironment({ MY_SERVICE_PASSWORD: value }, async () => {
        // The environment is read once per run of synchronous code.
        await null
        assert.match((await memory.upsertNote({ content: `log in with ${value}` })).content, LABEL)
        assert.match((await own.appendSummary('r', 's', `log in with ${value}`)).summary, LABEL)
        holds(!everythingBelow(root).includes(value), 'the secret is there')
        assert.equal((await blind.appendSummary('r', 's', `log in as ${value}`)).summary, `log in as ${value}`)
      })
    }))

  it('takes rules of the caller', () =>
    inDirectory(async (root) => {
      const reports: RedactionReport[] = []
      const redaction = {
        patterns: [{ name: 'employee', pattern: /E-\d{6}/ }],
        onRedaction: (report: RedactionReport) => void reports.push(report),
      }
      const memory = await memoryIn(root, { redaction })
      const { id, content } = await memory.upsertNote({ content: 'E-123456 and E-654321 said so' })
      assert.equal(content, '[REDACTED:employee] and [REDACTED:employee] said so')
      assert.deepEqual(reports, [
        { kind: 'memoryRecord', filepath: memoryFile(memory), entryId: id, findings: [{ rule: 'employee', count: 2 }] },
      ])
      await memory.upsertNote({ content: 'nothing secret' })
      await memory.appendSummary('r', 's', 'nothing secret')
      assert.equal(reports.length, 1, 'nobody is told where there was nothing')
    }))

  it('stores conventions whose titles differ only in their secrets once', () =>
    inDirectory(async (root) => {
      const canaries = new Canaries()
      const memory = await memoryIn(root)
      const first = await memory.upsertConvention({ title: `Key ${canaries.token()}`, content: 'one' })
      const second = await memory.upsertConvention({ title: `Key ${canaries.token()}`, content: 'two' })
      assert.deepEqual([second.id, second.content], [first.id, 'two'])
    }))

  it('takes out what others wrote into memory.json with the next change', () =>
    inDirectory(async (root) => {
      const canaries = new Canaries()
      const planted = {
        notes: [{ id: 'x', content: canaries.token() }],
        owner: { token: canaries.plant(randomText(24)) },
      }
      const path = plantMemory(root, JSON.stringify(planted))
      const memory = await memoryIn(root)
      await memory.getRepoMemory()
      canaries.assertPresent(textOf(path), 'the file: reading changes nothing')
      await memory.upsertNote({ content: 'added' })
      canaries.assertAbsent(textOf(path), 'the file')
      assert.equal((JSON.parse(textOf(path)) as { notes: unknown[] }).notes.length, 2)
    }))

  it('is in the messages of errors, too', () =>
    inDirectory(async (root) => {
      const canaries = new Canaries()
      const memory = await memoryIn(root)
      const secret = canaries.token()
      const { id } = await memory.upsertConvention({ title: 'Tests', content: 'c' })
      await memory.upsertConvention({ title: secret, content: 'c' })
      const errors = [
        await rejectsWith(() => memory.upsertConvention({ id, title: secret }), 'ERR_CONTEXT_CONFLICT'),
        await rejectsWith(() => memory.upsertNote({ id: secret, content: 'c' }), 'ERR_CONTEXT_INVALID_ARGUMENT'),
        await rejectsWith(() => memory.appendSummary(`${secret}\n`, 's', 't'), 'ERR_CONTEXT_INVALID_ARGUMENT'),
        await rejectsWith(() => RepoMemory.open({ workspace: join(root, secret) }), 'ERR_CONTEXT_NOT_FOUND'),
        await rejectsWith(() => RepoMemory.open({ repoHash: secret }), 'ERR_CONTEXT_INVALID_ARGUMENT'),
      ]
      canaries.assertAbsent(errors.map(({ message }) => message).join('\n'), 'a message')
    }))

  it('covers what the map shows, and its cache', () =>
    inDirectory(async (directory) => {
      const canaries = new Canaries()
      const workspace = join(directory, 'workspace')
      plant(
        join(workspace, 'src', 'keys.ts'),
        `export const GITHUB_TOKEN = '${canaries.token()}'\nexport function deploy(token = '${canaries.token()}') {}\n`,
      )
      const root = join(directory, 'root')
      const memory = await memoryOf(workspace, root)
      const map = await memory.repoMap()
      holds(map.text.includes('src/keys.ts'), map.text)
      const symbols = await memory.symbols('src/keys.ts')
      assert.deepEqual(symbols.map(({ name }) => name).sort(), ['GITHUB_TOKEN', 'deploy'])
      const pack = await memory.buildContextFromMemory(5000)
      canaries.assertAbsent(JSON.stringify([map, symbols, pack]), 'the map')
      await memory.close()
      canaries.assertAbsent(everythingBelow(root), 'the cache')
    }))
})
