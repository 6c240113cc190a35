/** What a context store writes passed redaction: contents, tags, links, names of files, descriptions, reports. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { ContextStoreOptions, RedactionReport } from '../dist/index.js'
import { debugLog, inDirectory, MemoryFileSystem, only, RenamingFileSystem, rejectsWith } from './support/fixtures.ts'
import { holds } from './support/processes.ts'
import { Canaries, everythingBelow, everythingTold } from './support/secrets.ts'
import { entry, storeIn, withEnvironment } from './support/stores.ts'

const LABEL = /\[REDACTED:[\w.-]+\]/

type Body = (path: string, options: Partial<ContextStoreOptions>, everything: () => string) => Promise<void>

const PLACES: Record<string, (body: Body) => Promise<void>> = {
  'the local disk': (body) =>
    inDirectory((directory) => body(join(directory, 'store'), {}, () => everythingBelow(directory))),
  'the local disk, durable': (body) =>
    inDirectory((directory) =>
      body(join(directory, 'store'), { durability: 'full' }, () => everythingBelow(directory)),
    ),
  'an injected file system': async (body) => {
    const fileSystem = new MemoryFileSystem()
    await body('/store', { fileSystem }, () => everythingTold(fileSystem))
  },
  'an injected file system that renames': async (body) => {
    const fileSystem = new RenamingFileSystem()
    await body('/store', { fileSystem }, () => everythingTold(fileSystem))
  },
}

for (const [place, keep] of Object.entries(PLACES)) {
  describe(`a secret on its way to a context store on ${place}`, () => {
    it('does not arrive, and is in nothing that comes back', () =>
      keep(async (path, options, everything) => {
        const canaries = new Canaries()
        const log = debugLog()
        const reports: RedactionReport[] = []
        const redaction = { onRedaction: (report: RedactionReport) => void reports.push(report) }
        const store = storeIn(path, { ...options, onDebug: log, redaction, sessionId: 's1' })
        const secret = (): string => canaries.token()
        const given = entry({
          slug: `key ${secret()}`,
          content: `# Found\n\ntoken ${secret()} in \`deploy.env\`\n\nGITHUB_TOKEN=${secret()}\n`,
          tags: ['plain', secret()],
          links: [`code-fixer/20260101T000000-${secret()}.md`],
        })
        const before = structuredClone(given)
        const told: number[] = []
        const written = await store.write(given).then((one) => {
          told.push(reports.length)
          return one
        })
        assert.deepEqual(given, before, 'what was passed stays')
        assert.deepEqual(told, [1], 'the report comes before the answer')
        const updated = await store.update(
          written.path,
          { content: `now ${secret()}`, addTags: [secret()], links: [`code-fixer/${secret()}.md`] },
          `because of ${secret()}`,
        )
        await store.link(written.path, `code-fixer/${secret()}.md`)
        const { old, replacement } = await store.supersede(
          written.path,
          entry({ slug: secret(), content: secret(), tags: [secret()] }),
          `wrong: ${secret()}`,
        )
        // Asked now: what follows names a path to the file system.
        const kept = everything()
        const missing = await rejectsWith(() => store.read(`code-fixer/${secret()}.md`), 'ERR_CONTEXT_NOT_FOUND')
        const back = {
          everything: kept,
          answers: JSON.stringify([written, updated, old, replacement]),
          read: JSON.stringify([await store.read(written.path), await store.list(), await store.search({})]),
          related: JSON.stringify(await store.related(written.path)),
          verified: JSON.stringify(await store.verify()),
          files: JSON.stringify(store.contextFiles()),
          reports: JSON.stringify(reports),
          log: JSON.stringify(log.entries),
          message: missing.message,
        }
        for (const [where, text] of Object.entries(back)) {
          canaries.assertAbsent(text, where)
        }
        for (const where of ['everything', 'answers', 'read', 'related'] as const) {
          assert.match(back[where], LABEL, where)
        }
        assert.deepEqual(await store.read(replacement.path), replacement, 'what is answered is what is read')
        assert.match(written.path, /^code-reviewer\/s1\/\d{8}T\d{6}-key-redacted/)
        assert.match(written.content, /^# Found\n\ntoken \[REDACTED:[\w.-]+\] in `deploy\.env`\n/)
        assert.equal(written.tags[0], 'plain')
        assert.equal(reports.length, 4)
        for (const [index, report] of reports.entries()) {
          const { kind, agent, filepath, findings, ...rest } = report
          const expected = index === 3 ? replacement : written
          assert.deepEqual([kind, agent, filepath, rest], ['storeEntry', 'code-reviewer', expected.filePath, {}])
          holds(findings.length > 0, 'findings')
          holds(
            findings.every(({ rule, count }) => rule !== '' && count > 0),
            JSON.stringify(findings),
          )
        }
        assert.equal(reports[0]?.findings.find(({ rule }) => rule === 'github-token')?.count !== undefined, true)
      }))

    it('is found by what was asked with it', () =>
      keep(async (path, options) => {
        const canaries = new Canaries()
        const store = storeIn(path, options)
        const secret = canaries.token()
        const written = await store.write(entry({ content: `zebra ${secret}`, tags: [secret] }))
        assert.deepEqual(only(await store.search({ tags: [secret] })).path, written.path)
        assert.deepEqual(only(await store.search({ query: secret })).path, written.path)
        assert.deepEqual(only(await store.list({ tags: { any: ['x', secret] } })).path, written.path)
        const link = `code-fixer/${canaries.token()}.md`
        await store.link(written.path, link)
        const { tags, links } = await store.update(
          written.path,
          { removeTags: [secret], removeLinks: [link] },
          'removed',
        )
        assert.deepEqual([tags, links], [[], []])
      }))

    it('arrives with redaction: false', () =>
      keep(async (path, options, everything) => {
        const canaries = new Canaries()
        const store = storeIn(path, { ...options, redaction: false })
        const [content, tag, description] = [canaries.token(), canaries.token(), canaries.token()]
        const written = await store.write(entry({ content, tags: [tag] }))
        await store.update(written.path, {}, description)
        canaries.assertPresent(everything(), 'the file')
        assert.deepEqual([written.content, written.tags], [content, [tag]])
      }))
  })
}

describe('redaction of a context store', () => {
  it('knows the secrets of the environment as they are at the call', () =>
    inDirectory(async (path) => {
      const store = storeIn(path)
      // With rules of its own: it reads the environment itself.
      const asking = storeIn(path, { redaction: {} })
      const canaries = new Canaries()
      const value = canaries.plant(['Zq7', 'wv9Xk2Lm4Tr8'].join(''))
      await withEnvironment({ MY_SERVICE_PASSWORD: value }, async () => {
        // The environment is read once per run of synchronous code.
        await null
        const { content, path: written } = await store.write(entry({ content: `log in with ${value}` }))
        assert.match(content, LABEL)
        assert.equal(only(await asking.search({ query: value })).path, written)
      })
      canaries.assertAbsent(everythingBelow(path), 'the store')
    }))

  it('does not call onRedaction without findings', () =>
    inDirectory(async (path) => {
      const reports: RedactionReport[] = []
      const store = storeIn(path, { redaction: { onRedaction: (report) => void reports.push(report) } })
      const { path: written } = await store.write(entry())
      await store.update(written, { content: 'nothing secret' }, 'plain')
      assert.deepEqual(reports, [])
    }))

  it('takes rules of the caller', () =>
    inDirectory(async (path) => {
      const store = storeIn(path, { redaction: { patterns: [{ name: 'employee', pattern: /E-\d{6}/ }] } })
      const { content, path: written } = await store.write(
        entry({ slug: 'about E-123456', content: 'E-123456 said so' }),
      )
      assert.equal(content, '[REDACTED:employee] said so')
      holds(!written.includes('123456'), written)
    }))

  it('keeps secrets that the file already has', () =>
    inDirectory(async (path) => {
      const canaries = new Canaries()
      const token = canaries.token()
      const before = await storeIn(path, { redaction: false }).write(entry({ content: `kept ${token}` }))
      assert.equal((await storeIn(path).read(before.path)).content, `kept ${token}`, 'reading changes nothing')
    }))
})
