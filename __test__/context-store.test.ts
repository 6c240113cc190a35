/** `ContextStore`: writing, reading, finding, changing and linking entries on the local disk. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ContextHistory, type ContextStore, type StoreEntry, type StoreEntrySummary } from '../dist/index.js'
import { debugLog, inDirectory, only, rejectsWith } from './support/fixtures.ts'
import { onDisk } from './support/postgres.ts'
import { holds } from './support/processes.ts'
import { readFileSync, statSync } from './support/stored-files.ts'
import { entry, entryText, filesBelow, plant, storeIn } from './support/stores.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

const pathsOf = (entries: readonly StoreEntrySummary[]): string[] => entries.map(({ path }) => path)

/** The summary of an entry: what `list` gives of it. */
function summaryOf({ content: _content, revision: _revision, changelog: _changelog, ...summary }: StoreEntry) {
  return summary
}

describe('write()', () => {
  it('gives the entry that is in the file', () =>
    inDirectory(async (path) => {
      const store = storeIn(path)
      const before = Date.now()
      const written = await store.write(
        entry({ slug: 'Auth Vulnerability!', tags: ['security', ' sql injection '], links: ['code-fixer/fix.md'] }),
      )
      assert.match(written.path, /^code-reviewer\/\d{8}T\d{6}-auth-vulnerability\.md$/)
      assert.equal(written.filePath, join(path, ...written.path.split('/')))
      assert.match(written.timestamp, ISO)
      const time = Date.parse(written.timestamp)
      holds(time >= before - 1000 && time <= Date.now(), 'the time is now, in whole seconds')
      assert.match(written.sessionId ?? '', UUID)
      assert.match(written.revision, /^[0-9a-f]{16}$/)
      assert.deepEqual(
        { ...written, path: '', filePath: '', timestamp: '', sessionId: '', revision: '' },
        {
          path: '',
          filePath: '',
          agent: 'code-reviewer',
          sessionId: '',
          timestamp: '',
          type: 'finding',
          tags: ['security', 'sql injection'],
          links: ['code-fixer/fix.md'],
          content: 'Tokens are compared with `==`.',
          revision: '',
          changelog: [],
        },
      )
      assert.deepEqual(await store.read(written.path), written)
      assert.deepEqual(filesBelow(path), [written.path])
    }))

  it('writes front matter that rg finds by the lines of the specification', () =>
    inDirectory(async (path) => {
      const sessionId = 'a1b2c3d4-e5f6-7890-abcd-ef1234567890'
      const { filePath, timestamp } = await storeIn(path, { sessionId }).write(
        entry({ tags: ['security', 'authentication'], links: ['code-fixer/a.md', 'code-fixer/b.md'] }),
      )
      const text = readFileSync(filePath, 'utf8')
      holds(text.startsWith('---\nagent: code-reviewer\n'), text)
      for (const line of [
        `sessionId: ${sessionId}`,
        'type: finding',
        'tags: [security, authentication]',
        'links:\n  - code-fixer/a.md\n  - code-fixer/b.md',
      ]) {
        holds(text.includes(`\n${line}\n`), `${line} is missing in ${text}`)
      }
      assert.match(text, new RegExp(`\\ntimestamp: "?${timestamp}"?\\n`))
      assert.match(text, /\n---\n\nTokens are compared with `==`\.\n$/)
    }))

  it('keeps files and directories to their owner', { skip: process.platform === 'win32' || onDisk('modes').skip }, () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'deep', 'store')
      const { filePath } = await storeIn(path, { sessionId: 's1' }).write(entry())
      assert.equal(statSync(filePath).mode & 0o777, 0o600)
      for (const made of [path, join(path, 'code-reviewer'), join(path, 'code-reviewer', 's1')]) {
        assert.equal(statSync(made).mode & 0o777, 0o700, made)
      }
    }),
  )

  it('gives every entry a file of its own, also in the same second', () =>
    inDirectory(async (path) => {
      const stores = [storeIn(path), storeIn(path)]
      const written = await Promise.all(Array.from({ length: 20 }, (_, number) => stores[number % 2]?.write(entry())))
      const paths = new Set(written.map((one) => one?.path))
      assert.equal(paths.size, 20)
      assert.deepEqual(filesBelow(path), [...paths].sort())
    }))

  it('takes each tag and each link once', () =>
    inDirectory(async (path) => {
      const written = await storeIn(path).write(
        entry({ tags: ['a', 'b', ' a'], links: ['x/1.md', 'x/2.md', 'x/1.md'] }),
      )
      assert.deepEqual(
        [written.tags, written.links],
        [
          ['a', 'b'],
          ['x/1.md', 'x/2.md'],
        ],
      )
    }))

  it('refuses a slug without a letter or a digit', () =>
    inDirectory(async (path) => {
      for (const slug of ['', '---', '?!']) {
        await rejectsWith(() => storeIn(path).write(entry({ slug })), 'ERR_CONTEXT_INVALID_ARGUMENT', /slug/)
      }
      assert.deepEqual(filesBelow(path), [])
    }))

  it('refuses what is larger than maxEntryBytes', () =>
    inDirectory(async (path) => {
      const store = storeIn(path, { maxEntryBytes: 2000 })
      for (const content of ['é'.repeat(1000), 'x'.repeat(1900)]) {
        await rejectsWith(() => store.write(entry({ content })), 'ERR_CONTEXT_TOO_LARGE', /maxEntryBytes/)
      }
      // What is too long by itself does not even cross.
      const tooLong = /^entry\.content takes more than 2000 bytes; raise maxEntryBytes/
      await rejectsWith(() => store.write(entry({ content: 'x'.repeat(2001) })), 'ERR_CONTEXT_TOO_LARGE', tooLong)
      const { path: written } = await store.write(entry({ content: 'x'.repeat(1500) }))
      await rejectsWith(
        () => store.update(written, { content: 'x'.repeat(1990) }, 'longer'),
        'ERR_CONTEXT_TOO_LARGE',
        /maxEntryBytes/,
      )
      assert.equal((await store.read(written)).content.length, 1500)
      assert.deepEqual(filesBelow(path), [written])
    }))
})

describe('read()', () => {
  it('reads what another program wrote', () =>
    inDirectory(async (path) => {
      const planted = plant(path, 'code-fixer/a1b2/notes.md', entryText({ tags: ['x', 'y'], content: '# Notes\r\n' }))
      const read = await storeIn(path).read(planted)
      assert.deepEqual(
        [read.agent, read.sessionId, read.timestamp, read.type, read.tags, read.links, read.supersededBy],
        ['code-fixer', 'a1b2c3d4', '2026-02-21T14:30:22Z', 'finding', ['x', 'y'], [], undefined],
      )
      assert.match(read.content, /^# Notes/)
    }))

  it('distinguishes missing from damaged entries', () =>
    inDirectory(async (path) => {
      const store = storeIn(path)
      await rejectsWith(() => store.read('code-fixer/nothing.md'), 'ERR_CONTEXT_NOT_FOUND', /code-fixer\/nothing\.md/)
      plant(path, 'code-fixer/plain.md', 'no front matter\n')
      await rejectsWith(() => store.read('code-fixer/plain.md'), 'ERR_CONTEXT_CORRUPT', /code-fixer\/plain\.md/)
    }))
})

/** Three entries of two agents, in the order of their times. */
async function threeEntries(path: string): Promise<[StoreEntry, StoreEntry, StoreEntry]> {
  plant(path, 'code-fixer/20260101T000000-old.md', entryText({ timestamp: '2026-01-01T00:00:00Z', tags: ['a'] }))
  plant(
    path,
    'code-fixer/s2/20260201T000000-newer.md',
    entryText({
      timestamp: '2026-02-01T00:00:00Z',
      sessionId: 's2',
      type: 'decision',
      tags: ['a', 'b'],
      content: 'Cookies stay: authentication needs them, and authentication is all there is.',
    }),
  )
  const store = storeIn(path)
  const { path: latest } = await store.write(
    entry({ type: 'summary', tags: ['b', 'c'], content: 'Authentication is one word among many others here.' }),
  )
  return [
    await store.read('code-fixer/20260101T000000-old.md'),
    await store.read('code-fixer/s2/20260201T000000-newer.md'),
    await store.read(latest),
  ]
}

describe('search() and list()', () => {
  it('find what meets every condition, the latest first', () =>
    inDirectory(async (path) => {
      const [old, newer, latest] = await threeEntries(path)
      const store = storeIn(path)
      const cases: [query: Parameters<ContextStore['search']>[0], expected: StoreEntry[]][] = [
        [{}, [latest, newer, old]],
        [{ limit: 2 }, [latest, newer]],
        [{ limit: 0 }, []],
        [{ agent: 'code-fixer' }, [newer, old]],
        [{ agent: ['code-fixer', 'code-reviewer'] }, [latest, newer, old]],
        [{ agent: 'nobody' }, []],
        [{ agent: [] }, []],
        [{ sessionId: 's2' }, [newer]],
        [{ sessionId: ['s2', latest.sessionId ?? ''] }, [latest, newer]],
        [{ sessionId: [] }, []],
        [{ type: 'decision' }, [newer]],
        [{ type: ['decision', 'finding'] }, [newer, old]],
        [{ type: [] }, []],
        [{ tags: ['a'] }, [newer, old]],
        [{ tags: ['a', 'b'] }, [newer]],
        [{ tags: [] }, [latest, newer, old]],
        [{ tags: { all: ['b'] } }, [latest, newer]],
        [{ tags: { any: ['a', 'c'] } }, [latest, newer, old]],
        [{ tags: { all: ['b'], any: ['c', 'x'] } }, [latest]],
        [{ tags: { any: [] } }, []],
        [{ since: '2026-02-01' }, [latest, newer]],
        [{ since: new Date('2026-02-01T00:00:01Z') }, [latest]],
        [{ until: Date.parse('2026-02-01T00:00:00Z') }, [newer, old]],
        [{ since: '2026-01-01', until: '2026-01-31' }, [old]],
        [{ agent: 'code-fixer', type: 'decision', tags: ['b'], since: '2026-01-15' }, [newer]],
      ]
      for (const [query, expected] of cases) {
        assert.deepEqual(await store.search(query), expected, JSON.stringify(query))
        assert.deepEqual(await store.list(query), expected.map(summaryOf), JSON.stringify(query))
      }
      assert.deepEqual(await store.list(), [latest, newer, old].map(summaryOf))
      assert.deepEqual(await store.list(null), [latest, newer, old].map(summaryOf))
      assert.deepEqual(
        await store.search({ agent: undefined, type: undefined, tags: undefined, limit: undefined } as object),
        [latest, newer, old],
      )
    }))

  it('find words, and rank by them', () =>
    inDirectory(async (path) => {
      const [, newer, latest] = await threeEntries(path)
      const store = storeIn(path)
      assert.deepEqual(pathsOf(await store.search({ query: 'authentication' })), pathsOf([latest, newer]))
      assert.deepEqual(pathsOf(await store.search({ query: 'AUTHENTICATION', type: 'decision' })), [newer.path])
      assert.deepEqual(await store.search({ query: 'zebra' }), [])
      assert.deepEqual(
        pathsOf(await store.search({ query: 'authentication cookies', ranked: true })),
        pathsOf([newer, latest]),
      )
      assert.deepEqual(await store.search({ query: 'zebra', ranked: true }), [])
    }))

  it('tell superseded entries from others', () =>
    inDirectory(async (path) => {
      const store = storeIn(path)
      const first = await store.write(entry())
      const { replacement } = await store.supersede(first.path, entry({ slug: 'second' }), 'it was wrong')
      assert.deepEqual(pathsOf(await store.list({ superseded: true })), [first.path])
      assert.deepEqual(pathsOf(await store.search({ superseded: false })), [replacement.path])
      assert.equal((await store.list()).length, 2)
    }))

  it('give at most 50 unless told, and list() all', () =>
    inDirectory(async (path) => {
      for (let number = 0; number < 60; number++) {
        plant(path, `code-fixer/20260101T0000${String(number).padStart(2, '0')}-n.md`, entryText())
      }
      const store = storeIn(path)
      assert.equal((await store.search({})).length, 50)
      assert.equal((await store.search({ limit: 55 })).length, 55)
      assert.equal((await store.search({ limit: Number.POSITIVE_INFINITY })).length, 60)
      assert.equal((await store.list()).length, 60)
    }))

  it('see at once what others write, change and remove', () =>
    inDirectory(async (path) => {
      const [writer, reader] = [storeIn(path), storeIn(path, { agent: 'summarizer' })]
      assert.deepEqual(await reader.list(), [])
      const { path: written } = await writer.write(entry())
      assert.deepEqual(pathsOf(await reader.list()), [written])
      const planted = plant(path, 'code-fixer/20260101T000000-old.md', entryText({ content: 'zebra' }))
      assert.deepEqual(pathsOf(await reader.search({ query: 'zebra' })), [planted])
      plant(path, planted, entryText({ content: 'a giraffe now' }))
      assert.deepEqual(await reader.search({ query: 'zebra' }), [])
      assert.deepEqual(pathsOf(await reader.search({ query: 'giraffe' })), [planted])
    }))

  it('stop when their signal does', () =>
    inDirectory(async (path) => {
      const store = storeIn(path)
      const { path: written } = await store.write(entry())
      const reason = new Error('enough')
      const signal = AbortSignal.abort(reason)
      for (const call of [
        () => store.search({ signal }),
        () => store.list({ signal }),
        () => store.related(written, { signal }),
        () => store.verify({ signal }),
        () => store.housekeep({ signal }),
      ]) {
        await assert.rejects(call, (error) => error === reason)
      }
      const controller = new AbortController()
      const searching = store.search({ signal: controller.signal })
      controller.abort(reason)
      await assert.rejects(searching, (error) => error === reason)
    }))
})

describe('update()', () => {
  it('changes what is given, and adds to the changelog', () =>
    inDirectory(async (path) => {
      const store = storeIn(path)
      const other = storeIn(path, { agent: 'code-fixer' })
      const first = await store.write(entry({ tags: ['a', 'b'], links: ['x/1.md'] }))
      const second = await other.update(
        first.path,
        { content: 'New text.', type: 'decision', addTags: ['c', 'a'], removeTags: ['b'], links: ['x/2.md', 'x/1.md'] },
        ' Looked at\nit again ',
      )
      assert.deepEqual(
        { ...second, changelog: [], revision: '' },
        {
          ...first,
          content: 'New text.',
          type: 'decision',
          tags: ['a', 'c'],
          links: ['x/1.md', 'x/2.md'],
          changelog: [],
          revision: '',
        },
      )
      holds(second.revision !== first.revision, 'the revision changes')
      const change = only(second.changelog)
      assert.match(change.timestamp, ISO)
      assert.deepEqual([change.agent, change.description], ['code-fixer', 'Looked at it again'])
      const third = await store.update(first.path, { tags: ['z'], removeLinks: ['x/1.md', 'x/9.md'] }, 'once more')
      assert.deepEqual([third.tags, third.links, third.content], [['z'], ['x/2.md'], 'New text.'])
      assert.deepEqual(
        third.changelog.map(({ agent, description }) => [agent, description]),
        [
          ['code-fixer', 'Looked at it again'],
          ['code-reviewer', 'once more'],
        ],
      )
      assert.deepEqual(await store.read(first.path), third)
      const text = readFileSync(third.filePath, 'utf8')
      assert.match(text, /\n\nNew text\.\n\n## Changelog\n\n- \S+ \[code-fixer\]: Looked at it again\n- \S+ \[code-/)
    }))

  it('with nothing to change says what was said', () =>
    inDirectory(async (path) => {
      const store = storeIn(path)
      const first = await store.write(entry())
      const { changelog, revision: _revision, ...rest } = await store.update(first.path, {}, 'still holds')
      const { changelog: _none, revision: _first, ...before } = first
      assert.deepEqual(rest, before)
      assert.equal(only(changelog).description, 'still holds')
    }))

  it('keeps the bytes of unchanged parts', () =>
    inDirectory(async (path) => {
      const foreign = `---\n# kept\nagent:   code-fixer\ntimestamp: 2026-02-21T14:30:22Z\ntype: finding\ntags:\n  - "x"\nextra: { deep: [1] }\n---\nBody  \n`
      const planted = plant(path, 'code-fixer/odd.md', foreign)
      const { filePath } = await storeIn(path).update(planted, {}, 'read')
      const text = readFileSync(filePath, 'utf8')
      holds(text.startsWith(foreign.trimEnd()), text)
    }))

  it('loses nothing when many change one entry at once', () =>
    inDirectory(async (path) => {
      const stores = [storeIn(path), storeIn(path, { agent: 'code-fixer' })]
      const { path: shared } = await storeIn(path).write(entry())
      const numbers = Array.from({ length: 40 }, (_, number) => number)
      await Promise.all(
        numbers.map((number) => stores[number % 2]?.update(shared, { addTags: [`t${number}`] }, `tag ${number}`)),
      )
      const { tags, changelog } = await storeIn(path).read(shared)
      assert.deepEqual(new Set(tags), new Set(numbers.map((number) => `t${number}`)))
      assert.deepEqual(
        changelog.map(({ description }) => description).sort(),
        numbers.map((number) => `tag ${number}`).sort(),
      )
    }))

  it('with ifRevision changes nothing but what was read', () =>
    inDirectory(async (path) => {
      const store = storeIn(path)
      const first = await store.write(entry())
      const second = await store.update(first.path, { content: 'two' }, 'second', { ifRevision: first.revision })
      await rejectsWith(
        () => store.update(first.path, { content: 'three' }, 'third', { ifRevision: first.revision }),
        'ERR_CONTEXT_CONFLICT',
      )
      assert.deepEqual(await store.read(first.path), second)
      const outcomes = await Promise.allSettled(
        ['a', 'b', 'c'].map((content) =>
          store.update(first.path, { content }, content, { ifRevision: second.revision }),
        ),
      )
      assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected', 'rejected'])
    }))

  it('creates nothing', () =>
    inDirectory(async (path) => {
      const store = storeIn(path)
      await rejectsWith(() => store.update('code-fixer/nothing.md', { content: 'x' }, 'why'), 'ERR_CONTEXT_NOT_FOUND')
      await rejectsWith(() => store.link('code-fixer/nothing.md', 'code-fixer/x.md'), 'ERR_CONTEXT_NOT_FOUND')
      await rejectsWith(() => store.supersede('code-fixer/nothing.md', entry(), 'why'), 'ERR_CONTEXT_NOT_FOUND')
      assert.deepEqual(filesBelow(path), [])
    }))
})

describe('link(), supersede() and related()', () => {
  it('link() adds a link, and says so', () =>
    inDirectory(async (path) => {
      const store = storeIn(path)
      const { path: first } = await store.write(entry())
      const linked = await store.link(first, 'code-fixer/later.md')
      assert.deepEqual(linked.links, ['code-fixer/later.md'])
      assert.equal(only(linked.changelog).description, 'Linked to code-fixer/later.md')
    }))

  it('supersede() writes the new one and marks the old one', () =>
    inDirectory(async (path) => {
      const store = storeIn(path, { agent: 'summarizer' })
      const first = await storeIn(path).write(entry())
      const { old, replacement } = await store.supersede(
        first.path,
        entry({ slug: 'second', content: 'Better.', links: ['code-fixer/x.md'] }),
        'it was wrong',
      )
      assert.match(replacement.path, /^summarizer\/\d{8}T\d{6}-second\.md$/)
      assert.deepEqual(new Set(replacement.links), new Set(['code-fixer/x.md', first.path]))
      assert.deepEqual([old.path, old.content, old.supersededBy], [first.path, first.content, replacement.path])
      assert.deepEqual(
        old.changelog.map(({ agent, description }) => [agent, description]),
        [['summarizer', `Marked as superseded, see ${replacement.path}: it was wrong`]],
      )
      assert.deepEqual([await store.read(first.path), await store.read(replacement.path)], [old, replacement])
    }))

  it('related() follows links both ways, the nearest first', () =>
    inDirectory(async (path) => {
      const store = storeIn(path)
      const c = await store.write(entry({ slug: 'c' }))
      const b = await store.write(entry({ slug: 'b', links: [c.path, 'code-fixer/nothing.md'] }))
      const a = await store.write(entry({ slug: 'a', links: [b.path] }))
      const found = async (...parameters: Parameters<ContextStore['related']>): Promise<string[]> =>
        pathsOf(await store.related(...parameters)).sort()
      assert.deepEqual(await found(b.path), [a.path, c.path].sort())
      assert.deepEqual(await found(b.path, { direction: 'links' }), [c.path])
      assert.deepEqual(await found(b.path, { direction: 'backlinks' }), [a.path])
      assert.deepEqual(await found(a.path), [b.path])
      assert.deepEqual(pathsOf(await store.related(a.path, { depth: 2 })), [b.path, c.path])
      assert.deepEqual(pathsOf(await store.related(a.path, { depth: 9, limit: 1 })), [b.path])
      assert.deepEqual(await store.related(a.path, { limit: 0 }), [])
      assert.deepEqual(await store.related(a.path, { direction: 'backlinks' }), [])
      assert.deepEqual(await store.related(b.path, { direction: 'links' }), [c], 'whole entries')
      await rejectsWith(() => store.related('code-fixer/nothing.md'), 'ERR_CONTEXT_NOT_FOUND')
    }))
})

describe('verify()', () => {
  it('reports each problem with its place', () =>
    inDirectory(async (path) => {
      const store = storeIn(path)
      assert.deepEqual(await store.verify(), { entries: 0, problems: [], danglingLinks: [] })
      const good = await store.write(entry({ links: ['code-fixer/nothing.md'] }))
      plant(path, 'code-fixer/plain.md', 'no front matter\n')
      plant(path, 'code-fixer/notes.txt', 'not looked at\n')
      const { entries, problems, danglingLinks } = await store.verify()
      assert.equal(entries, 1)
      assert.deepEqual(danglingLinks, [{ path: good.path, link: 'code-fixer/nothing.md' }])
      const problem = only(problems)
      assert.deepEqual([problem.path, problem.line], ['code-fixer/plain.md', 1])
      holds(problem.reason.length > 5, problem.reason)
    }))
})

describe('contextFiles()', () => {
  it('lists what a session wrote or changed, in order and once, for a log', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'store')
      const store = storeIn(path, { sessionId: 's1' })
      const same = storeIn(path, { sessionId: 's1', agent: 'summarizer' })
      const other = storeIn(path, { sessionId: 's2' })
      assert.deepEqual(store.contextFiles(), [])
      const a = await store.write(entry({ slug: 'a' }))
      const b = await other.write(entry({ slug: 'b' }))
      const c = await same.write(entry({ slug: 'c' }))
      await store.update(b.path, {}, 'seen')
      await store.link(a.path, b.path)
      const { replacement } = await same.supersede(c.path, entry({ slug: 'd' }), 'better')
      await rejectsWith(() => store.update('code-fixer/nothing.md', {}, 'seen'), 'ERR_CONTEXT_NOT_FOUND')
      await store.read(b.path)
      assert.deepEqual(store.contextFiles(), [a.path, c.path, b.path, replacement.path])
      assert.deepEqual(same.contextFiles(), store.contextFiles())
      assert.deepEqual(store.contextFiles('s2'), [b.path])
      assert.deepEqual(other.contextFiles(), [b.path])
      assert.deepEqual(store.contextFiles('nobody'), [])
      assert.deepEqual(storeIn(join(directory, 'another'), { sessionId: 's1' }).contextFiles(), [])
      const history = new ContextHistory({ path: join(directory, 'log.jsonl') })
      await history.append({ toolName: 'review', meta: { contextFiles: store.contextFiles() } })
      const logged = only(await history.read())
      assert.deepEqual(logged['meta'], { contextFiles: store.contextFiles() })
    }))

  it('gives a copy', () =>
    inDirectory(async (path) => {
      const store = storeIn(path)
      await store.write(entry())
      store.contextFiles().length = 0
      assert.equal(store.contextFiles().length, 1)
    }))
})

describe('close()', () => {
  it('waits for what was called, and the store can be used again', () =>
    inDirectory(async (path) => {
      const settled: string[] = []
      {
        await using store = storeIn(path)
        void store.write(entry({ slug: 'a' })).then(({ path }) => settled.push(path))
        void store.write(entry({ slug: 'b' })).then(({ path }) => settled.push(path))
      }
      assert.equal(settled.length, 2)
      const store = storeIn(path)
      await store.close()
      await store.write(entry({ slug: 'c' }))
      await store.close()
      assert.equal((await store.list()).length, 3)
    }))
})

describe('onDebug', () => {
  it('receives the place of the store, and its errors are ignored', () =>
    inDirectory(async (path) => {
      const log = debugLog()
      const store = storeIn(path, { onDebug: log, sessionId: 's1' })
      assert.deepEqual(log.entries[0], {
        message: 'ContextStore initialized',
        data: { path, agent: 'code-reviewer', sessionId: 's1' },
      })
      assert.deepEqual([store.path, store.agent, store.sessionId], [path, 'code-reviewer', 's1'])
      const throwing = storeIn(path, {
        onDebug: () => {
          throw new Error('a log that fails')
        },
      })
      await throwing.write(entry())
    }))
})
