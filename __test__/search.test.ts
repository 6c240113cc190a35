/** `search`: full text over stored outputs, of this session or of all, with snippets and positions. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { describe, test } from 'node:test'
import type { SearchHit, SearchOptions, SearchSnippet } from '../dist/index.js'
import { debugLog, MemoryFileSystem, rejectsWith, runScript, wrong } from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import { holds, inDirectory, PATIENT, start } from './support/processes.ts'
import { rmSync, writeFileSync } from './support/stored-files.ts'

/** What is marked in a snippet. */
function marked({ text, matches }: SearchSnippet): string[] {
  return matches.map(([from, to]) => text.slice(from, to))
}

function tools(hits: readonly SearchHit[]): string[] {
  return hits.map((hit) => hit.toolName)
}

/** Asserts that every snippet occurs at the position that it names. */
function checkPlaces(hit: SearchHit, text: string): void {
  for (const snippet of hit.snippets.filter(({ field }) => field === 'result')) {
    const { byteOffset = -1, line = -1, matches } = snippet
    const bytes = Buffer.from(text).subarray(byteOffset, byteOffset + Buffer.byteLength(snippet.text))
    assert.equal(bytes.toString(), snippet.text)
    const before = Buffer.from(text).subarray(0, byteOffset).toString() + snippet.text.slice(0, matches[0]?.[0])
    assert.equal(line, before.split('\n').length)
    let last = 0
    for (const [from, to] of matches) {
      holds(last <= from && from < to && to <= snippet.text.length, `matches at ${from} to ${to}`)
      last = to
    }
  }
}

/** A manager with one output for each tool. */
async function saved(contextDir: string, results: Record<string, unknown>): Promise<ContextManager> {
  const manager = new ContextManager({ contextDir })
  for (const [tool, result] of Object.entries(results)) {
    await manager.saveContext(tool, { of: tool }, result)
  }
  return manager
}

describe('what a query says', () => {
  const results = {
    one: 'The login form connects to the server.',
    two: 'LoginForm: connection refused, connection refused.\nform of the login',
    three: { log: 'first line\nsecond LINE', café: ['Zoë 東京都の人口', 3.14] },
    four: 'to be, or not to be',
  }
  const cases: [query: string, found: string[]][] = [
    ['connected', ['one', 'two']],
    ['refused server', ['one', 'two']],
    ['"login form"', ['one']],
    ['"LOGIN   Form" connection', ['one']],
    ['"form of"', ['two']],
    ['"first line second"', ['three']],
    ['connecti*', ['two']],
    ['conn*', ['one', 'two']],
    ['refus* 人*', ['two', 'three']],
    ['form -refused', ['one']],
    ['form -"form of"', ['one']],
    ['form -serv*', ['two']],
    ['tool:one,three form', ['one']],
    ['tool:"two"', ['two']],
    ['-tool:one form', ['two']],
    ['cafe zoe', ['three']],
    ['東京', ['three']],
    ['"京都の"', ['three']],
    ['3.14', ['three']],
    ['to be or', ['four', 'one']],
    ['"or not to"', ['four']],
    ['foo:three', ['three']],
    ['nowhere', []],
    ['tool:nobody', []],
  ]
  test(
    'words, phrases, prefixes, exclusions and filters',
    PATIENT,
    inDirectory(async (contextDir) => {
      const manager = await saved(contextDir, results)
      for (const [query, expected] of cases) {
        const hits = await manager.search(query)
        assert.deepEqual(tools(hits).sort(), [...expected].sort(), query)
        for (const { score } of hits) {
          holds(score > 0 && score <= 1, `${query}: score ${score}`)
        }
      }
      await manager.clear()
    }),
  )

  test(
    'times and the options of a filter',
    PATIENT,
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      await manager.saveContext('first', {}, 'needle', 1, 'q1')
      const pointer = manager.getAllPointers()[0]
      assert.ok(pointer, 'a pointer')
      while (Date.now() === pointer.timestamp) {
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      await manager.saveContext('second', {}, 'needle', 'b', 'q2')
      const [, later] = manager.getAllPointers()
      assert.ok(later, 'a second pointer')
      const at = new Date(later.timestamp).toISOString()
      const found = async (query: string, options?: SearchOptions) => tools(await manager.search(query, options))
      assert.deepEqual(await found(`needle after:${at}`), ['second'])
      assert.deepEqual(await found(`needle before:${at}`), ['first'])
      assert.deepEqual(await found(`before:${at}`), ['first'])
      assert.deepEqual(await found('after:2020-01-01'), ['second', 'first'])
      assert.deepEqual(await found('needle after:2999-01-01'), [])
      assert.deepEqual(await found('needle', { taskId: 1 }), ['first'])
      assert.deepEqual(await found('needle', { taskId: [2, 'b'] }), ['second'])
      assert.deepEqual(await found('needle', { queryId: 'q2' }), ['second'])
      assert.deepEqual(await found('needle tool:first', { toolName: ['second', 'first'] }), ['first'])
      assert.deepEqual(await found('needle tool:first', { toolName: 'second' }), [])
      assert.deepEqual(await found('', { toolName: 'second' }), ['second'])
      assert.deepEqual(await found('-absent'), ['second', 'first'])
      assert.deepEqual(await found('', { since: at, limit: 5 }), ['second'])
      assert.deepEqual(await found('needle', { limit: 1 }), ['second'], 'equally good: the latest')
      assert.deepEqual(await found('needle', { limit: 0 }), [])
      await manager.clear()
    }),
  )

  test(
    'hits are pointers with a score',
    PATIENT,
    inDirectory(async (contextDir) => {
      const manager = await saved(contextDir, { one: 'needle needle', two: `${'hay '.repeat(200)} needle` })
      const [best, next] = await manager.search('needle')
      assert.ok(best && next, 'two hits')
      const { score, snippets, ...pointer } = best
      assert.deepEqual(pointer, manager.getAllPointers()[0])
      holds(score > next.score, 'shorter and more often is better')
      assert.equal(snippets.length, 1)
      assert.equal((await manager.loadContext(best.filepath)).result, 'needle needle')
      await manager.clear()
    }),
  )
})

describe('dates', () => {
  test(
    'a time is a phrase like any other, and a date excludes nothing but itself',
    inDirectory(async (contextDir) => {
      const manager = await saved(contextDir, {
        first: 'started at 2026-11-01T09:30:00 on host 7',
        second: 'started at 2026-11-02T09:30:00 in may, 17 times',
      })
      assert.deepEqual(tools(await manager.search('"2026-11-01T09:30:00"')), ['first'])
      assert.deepEqual(tools(await manager.search('started -2026-11-02')), ['first'])
      assert.deepEqual(tools(await manager.search('started -2024-05-07 -2024-05-17')).sort(), ['first', 'second'])
      await manager.clear()
    }),
  )
})

test(
  'a hit has the handle that stands in the conversation',
  inDirectory(async (contextDir) => {
    const manager = new ContextManager({ contextDir })
    const { handle } = await manager.offload('read', {}, 'a line with a quokka\n'.repeat(1000))
    assert.deepEqual(
      (await manager.search('quokka')).map((hit) => hit.handle),
      [handle],
    )
    await manager.clear()
  }),
)

describe('snippets', () => {
  test(
    'show the best places, with line and byte offset, in UTF-16 units',
    PATIENT,
    inDirectory(async (contextDir) => {
      const filler = 'x = 1 // é😀\n'.repeat(300)
      const text = `${filler}fn login() {\n  😀 connections\n}\n${filler}login\n${filler}`
      const manager = await saved(contextDir, { read_file: text })
      const [hit] = await manager.search('login connected', { snippets: 2, snippetLength: 80 })
      assert.ok(hit, 'a hit')
      assert.equal(hit.snippets.length, 2)
      checkPlaces(hit, text)
      const [best, other] = hit.snippets
      assert.deepEqual(best && marked(best), ['login', 'connections'])
      assert.equal(best?.line, 301)
      assert.deepEqual(other && marked(other), ['login'])
      holds(best?.text.startsWith('x = 1'), 'begins with a line')
      assert.deepEqual((await manager.search('login', { snippets: 0 }))[0]?.snippets, [])
      await manager.clear()
    }),
  )

  test(
    'of arguments and of JSON',
    PATIENT,
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const result = { items: ['a\nneedle\t"quoted"', 'b'], ünï: 'NeedleCase' }
      await manager.saveContext('grep', { pattern: 'hay\nstack' }, result)
      const [hit] = await manager.search('needle stack')
      assert.ok(hit, 'a hit')
      checkPlaces(hit, JSON.stringify(result))
      const byField = new Map(hit.snippets.map((snippet) => [snippet.field, snippet]))
      const [inResult, inArguments] = [byField.get('result'), byField.get('arguments')]
      assert.deepEqual(inResult && marked(inResult), ['needle', 'Needle'])
      assert.equal(inArguments?.text, '{"pattern":"hay\\nstack"}')
      assert.deepEqual(inArguments && marked(inArguments), ['stack'])
      assert.equal(inArguments?.line, undefined)
      const [quoted] = await manager.search('"needle \\"')
      assert.equal(quoted, undefined, 'a backslash is text')
      const [named] = await manager.search('grep')
      assert.deepEqual(named?.snippets, [])
      await manager.clear()
    }),
  )
})

describe('what is searched', () => {
  test(
    'every save that was acknowledged before, at once',
    PATIENT,
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const saves = Array.from({ length: 500 }, (_, number) =>
        manager.saveContext('tool', { number }, `common word${number} ${'hay '.repeat(50)}`),
      )
      const paths = await Promise.all(saves)
      const hits = await manager.search('common', { limit: 1000, snippets: 0 })
      assert.deepEqual(hits.map((hit) => hit.filepath).sort(), [...paths].sort())
      const checks = Array.from({ length: 20 }, async (_, number) => {
        const path = await manager.saveContext('tool', {}, `late needle${number}`)
        const [hit] = await manager.search(`needle${number}`)
        assert.equal(hit?.filepath, path)
      })
      await Promise.all(checks)
      await manager.clear()
    }),
  )

  test(
    'only this session, or every context of the directory',
    PATIENT,
    inDirectory(async (contextDir) => {
      const own = await saved(contextDir, { mine: 'needle here' })
      const other = await saved(contextDir, { on_disk: `needle ${'x '.repeat(30_000)}` })
      const inMemory = new ContextManager({ contextDir, persist: 'large' })
      await inMemory.saveContext('in_memory', {}, 'needle in memory')
      const all = async (): Promise<string[]> => tools(await own.search('needle', { sessions: 'all' })).sort()
      assert.deepEqual(tools(await own.search('needle')), ['mine'])
      assert.deepEqual(await all(), ['in_memory', 'mine', 'on_disk'])
      assert.deepEqual(tools(await own.search('needle', { sessions: 'own' })), ['mine'])
      const late = await other.saveContext('late', {}, 'needle later')
      assert.deepEqual(await all(), ['in_memory', 'late', 'mine', 'on_disk'], 'what is new')
      await other.forget(late)
      await inMemory.clear()
      assert.deepEqual(await all(), ['mine', 'on_disk'], 'what is gone')
      assert.deepEqual(await own.search('tool:late,in_memory', { sessions: 'all' }), [], 'without a look at texts')
      own.clearPointers()
      assert.deepEqual(tools(await own.search('needle')), [])
      assert.deepEqual(await all(), ['mine', 'on_disk'], 'the file stays')
      await other.clear()
      const [hit] = await own.search('needle tool:mine', { sessions: 'all' })
      assert.equal(hit?.snippets[0]?.text, 'needle here')
      await own.clear()
    }),
  )

  test(
    'scores of own and of other contexts compare',
    PATIENT,
    inDirectory(async (contextDir) => {
      const own = await saved(contextDir, { weak: `${'hay '.repeat(100)} needle`, none: 'hay' })
      const other = await saved(contextDir, { strong: 'needle needle', same: `${'hay '.repeat(100)} needle` })
      const hits = await own.search('needle', { sessions: 'all' })
      assert.equal(hits[0]?.toolName, 'strong')
      assert.equal(hits[1]?.score, hits[2]?.score)
      await Promise.all([own.clear(), other.clear()])
    }),
  )

  test(
    'files of other processes',
    PATIENT,
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const child = start('session.mjs', [contextDir, '', 3, 0, 'stay'])
      const paths = [await child.line(), await child.line(), await child.line()]
      await child.line()
      const hits = await manager.search('child_tool', { sessions: 'all' })
      assert.deepEqual(hits.map((hit) => hit.filepath).sort(), paths.sort())
      child.send('save')
      const path = await child.line()
      assert.equal((await manager.search('later', { sessions: 'all' }))[0]?.filepath, path)
      child.send('clear')
      assert.equal(await child.line(), 'cleared')
      assert.deepEqual(await manager.search('child_tool', { sessions: 'all' }), [])
      child.send('end')
      await child.ended
    }),
  )

  test(
    'nothing that was forgotten or cleared',
    PATIENT,
    inDirectory(async (contextDir) => {
      const manager = await saved(contextDir, { one: 'needle', two: 'needle' })
      const [first] = manager.getAllPointers()
      assert.ok(first, 'a pointer')
      await manager.forget(first.filepath)
      for (const sessions of ['own', 'all'] as const) {
        assert.deepEqual(tools(await manager.search('needle', { sessions })), ['two'])
      }
      await manager.clear()
      for (const sessions of ['own', 'all'] as const) {
        assert.deepEqual(await manager.search('needle', { sessions }), [])
      }
    }),
  )

  test(
    'nothing whose file is gone',
    PATIENT,
    inDirectory(async (contextDir) => {
      const manager = await saved(contextDir, { large: `needle ${'x '.repeat(30_000)}`, small: 'needle' })
      rmSync(manager.getAllPointers()[0]?.filepath ?? '')
      assert.deepEqual(tools(await manager.search('needle')), ['small'])
      await manager.clear()
    }),
  )

  test(
    'no file that is no record: it is skipped and reported',
    PATIENT,
    inDirectory(async (contextDir) => {
      const onDebug = debugLog()
      const writer = await saved(contextDir, { fine: 'needle' })
      const outside = `${contextDir}-outside.json`
      const record = '{"toolName":"foreign","args":{"a":"caf\\u00e9"},"result":"needle"}'
      writeFileSync(outside, record)
      symlinkSync(outside, join(contextDir, 'link.json'))
      writeFileSync(join(contextDir, 'foreign.json'), record)
      writeFileSync(join(contextDir, 'package.json'), '{"name":"needle"}')
      writeFileSync(join(contextDir, 'cut.json'), record.slice(0, -3))
      writeFileSync(join(contextDir, 'empty.json'), '')
      writeFileSync(join(contextDir, 'needle.txt'), record)
      const manager = new ContextManager({ contextDir, onDebug })
      for (let round = 0; round < 2; round++) {
        const hits = await manager.search('needle', { sessions: 'all' })
        assert.deepEqual(tools(hits).sort(), ['fine', 'foreign'])
      }
      const skipped = onDebug.entries.filter(({ message }) => message === 'Skipped a file that is no context record')
      assert.deepEqual(
        skipped.map(({ data }) => (data as { filepath: string }).filepath).sort(),
        ['cut.json', 'empty.json', 'package.json'].map((name) => join(contextDir, name)),
      )
      const [foreign] = await manager.search('café', { sessions: 'all' })
      assert.equal(foreign?.snippets[0]?.text, '{"a":"caf\\u00e9"}')
      writeFileSync(join(contextDir, 'cut.json'), record.replace('foreign', 'mended'))
      assert.deepEqual(tools(await manager.search('needle tool:mended', { sessions: 'all' })), ['mended'])
      rmSync(outside)
      await writer.clear()
    }),
  )

  test('what an injected file system holds', PATIENT, async () => {
    const fileSystem = new MemoryFileSystem()
    const options = { contextDir: '/virtual', fileSystem, persistThreshold: 100 }
    const one = new ContextManager(options)
    await one.saveContext('one', {}, `needle ${'hay '.repeat(100)}`)
    const two = new ContextManager(options)
    await two.saveContext('two', {}, `needle ${'hay '.repeat(100)}`)
    assert.deepEqual(tools(await two.search('needle')), ['two'])
    assert.deepEqual(tools(await two.search('needle', { sessions: 'all' })).sort(), ['one', 'two'])
    const reads = fileSystem.argumentsOf('readFile').length
    await two.search('tool:one', { sessions: 'all' })
    assert.equal(fileSystem.argumentsOf('readFile').length, reads, 'known files are not read again')
  })
})

describe('long and hostile', () => {
  test(
    'a needle in the middle of 50 MB, own and of others',
    PATIENT,
    inDirectory(async (contextDir) => {
      const line = 'the quick brown fox jumps over the lazy dog 0123456789\n'
      const half = line.repeat(Math.ceil(25_000_000 / line.length))
      const text = `${half}here is the Nadelöhr of it all\n${half}`
      const manager = new ContextManager({ contextDir })
      await manager.saveContext('large', {}, text)
      await manager.saveContext('small', {}, 'nothing')
      for (const searcher of [manager, new ContextManager({ contextDir })]) {
        for (const query of searcher === manager ? ['nadelöhr', '"the nadelöhr of"'] : ['nadel* fox', 'nadelohr']) {
          const began = performance.now()
          const hits = await searcher.search(query, { sessions: searcher === manager ? 'own' : 'all' })
          const took = performance.now() - began
          assert.deepEqual(tools(hits), ['large'], query)
          holds(took < 60_000, `${query} took ${Math.round(took)} ms`)
          const snippet = hits[0]?.snippets.find(({ text }) => text.includes('Nadelöhr'))
          assert.equal(snippet?.byteOffset !== undefined && snippet.byteOffset > 20_000_000, true, query)
          assert.equal(Buffer.from(text).indexOf(snippet?.text ?? '?'), snippet?.byteOffset)
        }
        assert.deepEqual(await searcher.search('absentword', { sessions: 'all' }), [])
      }
      await manager.clear()
    }),
  )

  test(
    'a rare word that only a long text has outdoes many hits of a common one',
    PATIENT,
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      for (let number = 0; number < 30; number++) {
        await manager.saveContext('common', {}, `error ${number}`)
      }
      await manager.saveContext('long', {}, `${'hay '.repeat(100_000)}error needle ${'hay '.repeat(100_000)}`)
      assert.equal((await manager.search('error needle'))[0]?.toolName, 'long')
      await manager.clear()
    }),
  )

  test(
    'any query ends soon, with an answer or with a refusal',
    PATIENT,
    inDirectory(async (contextDir) => {
      const manager = await saved(contextDir, {
        one: 'a '.repeat(500_000),
        two: `${'('.repeat(100_000)}a\0b`,
        three: 'aaaaaaaaa'.repeat(100_000),
      })
      const queries = [
        '(a+)+$',
        '.*.*.*x',
        `"${'a '.repeat(2000)}b"`,
        `"${'a'.repeat(4000)}`,
        '"a" '.repeat(2000),
        '-a '.repeat(2000),
        'a* '.repeat(2000),
        '"'.repeat(4001),
        `${'('.repeat(4000)}a`,
        'a\0b "\0" \0',
        '\ud800 a',
        `${'*'.repeat(4000)}a`,
        'tool:'.repeat(1000),
        'x'.repeat(100_000),
        Array.from({ length: 100 }, (_, number) => `"${number}"`).join(' '),
        '\u202e"a" \u{1f600} ﷽*',
      ]
      for (const query of queries) {
        const began = performance.now()
        await manager.search(query).catch((error: { code?: string; message: string }) => {
          assert.equal(error.code, 'ERR_CONTEXT_INVALID_ARGUMENT', error.message)
        })
        const took = performance.now() - began
        holds(took < 20_000, `${query.slice(0, 30)} took ${Math.round(took)} ms`)
      }
      await manager.clear()
    }),
  )

  test(
    'a signal stops it',
    PATIENT,
    inDirectory(async (contextDir) => {
      const writer = await saved(contextDir, Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`t${i}`, 'hay'])))
      const manager = new ContextManager({ contextDir })
      const reason = new Error('enough')
      await assert.rejects(manager.search('hay', { signal: AbortSignal.abort(reason) }), reason)
      const controller = new AbortController()
      const promise = manager.search('hay', { sessions: 'all', signal: controller.signal })
      controller.abort(reason)
      await assert.rejects(promise, reason)
      assert.equal((await manager.search('hay', { sessions: 'all', limit: 100 })).length, 50, 'searching goes on')
      await writer.clear()
    }),
  )

  test('the process ends when a search is done', PATIENT, async () => {
    const found = await runScript(`
      const manager = new ContextManager({ contextDir: 'contexts' })
      await manager.saveContext('tool', {}, 'needle')
      report((await manager.search('needle')).length)
    `)
    assert.equal(found, 1)
  })
})

describe('wrong arguments', () => {
  test(
    'are refused with their names',
    PATIENT,
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const refuses = (call: () => Promise<unknown>, pattern: RegExp): Promise<unknown> =>
        rejectsWith(call, 'ERR_CONTEXT_INVALID_ARGUMENT', pattern)
      for (const query of [undefined, null, 1, {}, ['a']]) {
        await refuses(() => manager.search(wrong(query)), /^query must be a string/)
      }
      for (const query of ['', '  ', '""', '!= ::', '*']) {
        await refuses(() => manager.search(query), /^query must have a word/)
      }
      for (const query of ['after:yesterday', 'a before:2026-13-01', 'after:"2026"']) {
        await refuses(() => manager.search(query), /^query: .*2026-11-01T09:30/)
      }
      await refuses(() => manager.search('a'.repeat(8193)), /^query must have at most 8192 bytes/)
      const options: [unknown, RegExp][] = [
        [1, /^options must be an object/],
        [{ sessions: 'mine' }, /^options\.sessions must be/],
        [{ limit: -1 }, /^options\.limit must be/],
        [{ limit: 1.5 }, /^options\.limit must be/],
        [{ snippets: '3' }, /^options\.snippets must be/],
        [{ snippets: 101 }, /^options\.snippets must be a whole number from 0 to 100/],
        [{ snippetLength: 19 }, /^options\.snippetLength must be/],
        [{ snippetLength: 10_001 }, /^options\.snippetLength must be/],
        [{ toolName: 1 }, /^options\.toolName must be/],
        [{ taskId: [{}] }, /^options\.taskId\[0\] must be/],
        [{ since: 'soon' }, /^options\.since must be/],
        [{ signal: {} }, /^signal must be/],
      ]
      for (const [given, pattern] of options) {
        await refuses(() => manager.search('a', wrong(given)), pattern)
      }
      const absent = { sessions: null, limit: null, snippets: undefined, toolName: null, since: null, signal: null }
      assert.deepEqual(await manager.search('a', wrong(absent)), [])
      assert.deepEqual(await manager.search('a', null), [])
    }),
  )
})
