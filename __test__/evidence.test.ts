/** Calls that fail are evidence: searched, ranked, sliced and listed. What calls found is said where contexts are chosen. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ContextManagerOptions, contextTools, createToolRecorder } from '../dist/index.js'
import { inDirectory, MemoryFileSystem, rejectsWith } from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import { holds } from './support/processes.ts'

const ERROR = 'connect ECONNREFUSED 127.0.0.1:5432'
const MESSAGE = 'The ledger database did not answer.'

const inMemory = (options: ContextManagerOptions = {}): ContextManager =>
  new ContextManager({ contextDir: '/virtual/contexts', fileSystem: new MemoryFileSystem(), ...options })

const failed = (manager: ContextManager, result: unknown = null): Promise<string> =>
  manager.saveContext('query_rows', { table: 'accounts' }, result, null, null, {
    success: false,
    error: ERROR,
    message: MESSAGE,
  })

describe('a failed call', () => {
  test('is found by its error and by its message, in memory and from disk', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const path = await failed(manager)
      await manager.saveContext('read_file', { path: 'a.ts' }, 'nothing of interest')
      const other = new ContextManager({ contextDir })
      for (const [searching, sessions] of [
        [manager, 'own'],
        [other, 'all'],
      ] as const) {
        for (const [query, text] of [
          ['ECONNREFUSED', ERROR],
          ['ledger database', MESSAGE],
        ] as const) {
          const [hit, ...rest] = await searching.search(query, { sessions })
          assert.equal(hit?.filepath, path)
          assert.deepEqual(rest, [])
          const [snippet] = hit?.snippets ?? []
          assert.equal(snippet?.field, 'outcome')
          holds(snippet?.text.includes(text), String(snippet?.text))
        }
      }
      const [selected, ...rest] = await manager.selectContexts('why was it ECONNREFUSED?')
      assert.equal(selected?.filepath, path)
      assert.deepEqual(rest, [])
      assert.deepEqual(manager.selectRelevantContexts('ledger database', manager.getAllPointers()), [path])
      await manager.clear()
      await other.close()
    }))

  test('is sliced by error and message where it has no result', async () => {
    const manager = inMemory()
    for (const result of [null, undefined]) {
      const path = await failed(manager, result)
      const slice = await manager.readContext(path)
      assert.equal(slice.text, `${ERROR}\n${MESSAGE}`)
      assert.deepEqual([slice.success, slice.error, slice.message], [false, ERROR, MESSAGE])
      assert.equal((await manager.readContext(path, { lines: { from: 2, to: 2 } })).text, MESSAGE)
      assert.deepEqual(
        (await manager.readContext(path, { grep: 'ECONN' })).matches?.map(({ line }) => line),
        [1],
      )
      const [hit] = await manager.search('ledger')
      assert.equal(hit?.snippets[0]?.line, 2)
    }
    const withRows = await manager.readContext(await failed(manager, 'partial rows'))
    assert.equal(withRows.text, 'partial rows')
    assert.deepEqual([withRows.success, withRows.error], [false, ERROR])
    const plain = await manager.readContext(await manager.saveContext('t', {}, 'x'))
    assert.deepEqual([plain.success, plain.error, plain.message], [undefined, undefined, undefined])
    assert.equal((await manager.readContext(await manager.saveContext('t', {}, null))).text, 'null')
  })

  test('says so in pointers, listings and tool answers', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const path = await failed(manager)
      const [pointer] = manager.getAllPointers()
      const [listed] = await manager.listContexts()
      const [selected] = await manager.selectContexts('accounts')
      for (const one of [pointer, listed, selected, manager.getLatestPointers()[0]]) {
        assert.deepEqual([one?.success, one?.error, one?.message], [false, ERROR, MESSAGE])
      }
      const tools = Object.fromEntries(contextTools(manager).map((tool) => [tool.name, tool]))
      const list = await tools['list_contexts']?.execute({})
      holds(String(list?.value).includes(`failed: ${ERROR} | ${MESSAGE}`), String(list?.value))
      const search = await tools['search_contexts']?.execute({ query: 'ledger' })
      holds(String(search?.value).includes(MESSAGE), String(search?.value))
      const read = await tools['read_context_slice']?.execute({ id: pointer?.filename ?? path })
      holds(String(read?.value).includes(`(failed)\n${ERROR}\n${MESSAGE}`), String(read?.value))
      await manager.clear()
    }))

  test('has its exit code in pointers, listings and tool answers, also after a restart', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const filepath = await manager.saveContext('run', { command: 'make' }, 'no rule to make ledger', null, null, {
        success: false,
        error: 'make failed',
        exitCode: 2,
        message: 'Stop.',
      })
      await manager.saveContext('run', { command: 'true' }, 'quiet', null, null, { exitCode: 0 })
      const other = new ContextManager({ contextDir })
      for (const pointers of [manager.getAllPointers(), await manager.listContexts(), await other.listContexts()]) {
        assert.deepEqual(
          pointers.map(({ exitCode }) => exitCode),
          [2, 0],
        )
      }
      for (const source of [manager, other]) {
        const tools = Object.fromEntries(contextTools(source, { sessions: 'all' }).map((tool) => [tool.name, tool]))
        const list = await tools['list_contexts']?.execute({})
        holds(String(list?.value).includes(' | failed: make failed | exit code 2 | Stop.\n'), String(list?.value))
        holds(/ \| run: true \| .* \| exit code 0\n/.test(String(list?.value)), String(list?.value))
        const search = await tools['search_contexts']?.execute({ query: 'ledger' })
        holds(String(search?.value).includes(' | exit code 2 | '), String(search?.value))
        assert.equal((await source.readContext(filepath)).exitCode, 2)
        const slice = await tools['read_context_slice']?.execute({ id: filepath })
        holds(String(slice?.value).includes('(failed: make failed | exit code 2 | Stop.)\n'), String(slice?.value))
      }
      await manager.clear()
      await other.close()
    }))

  test('is recorded with its error by a recorder', async () => {
    const manager = inMemory()
    const recorder = createToolRecorder(manager)
    const context = { traceId: 't', spanId: 's' }
    recorder.onToolStart(context, 'query_rows', {})
    recorder.onToolEnd(context, 'query_rows', { success: false, error: ERROR, message: MESSAGE })
    await recorder.flush()
    assert.equal((await manager.search('ECONNREFUSED')).length, 1)
  })

  test('has long errors cut in pointers and whole in slices', async () => {
    const manager = inMemory()
    const error = `${'é'.repeat(1000)} zanzibar`
    const path = await manager.saveContext('t', {}, null, null, null, { success: false, error })
    const [pointer] = manager.getAllPointers()
    holds(Buffer.byteLength(String(pointer?.error)) <= 512 && pointer?.error?.endsWith('é…'), String(pointer?.error))
    assert.equal((await manager.readContext(path)).text, error)
    assert.equal((await manager.search('zanzibar')).length, 1)
  })

  test('keeps no secret', async () => {
    const manager = inMemory({ redaction: { patterns: [{ name: 'phrase', pattern: 'correct horse battery' }] } })
    const error = 'login with correct horse battery failed'
    const path = await manager.saveContext('t', {}, null, null, null, { success: false, error, message: error })
    const [pointer] = manager.getAllPointers()
    const slice = await manager.readContext(path)
    for (const text of [pointer?.error, pointer?.message, slice.text, slice.error, slice.message]) {
      holds(text !== undefined && !text.includes('horse'), String(text))
    }
  })
})

describe('what a call found', () => {
  test('is given to describe with the outcome', async () => {
    const seen: unknown[] = []
    const manager = inMemory({
      describe: (toolName, args, result, outcome) => {
        seen.push([toolName, args, result, outcome])
        return `${toolName}: ${Array.isArray(result) ? result.length : 'no'} rows, ${outcome?.message ?? 'no message'}`
      },
    })
    await manager.saveContext('rows', { a: 1 }, [1, 2], null, null, { success: true, message: 'Found 2' })
    await manager.saveContext('rows', {}, null)
    assert.deepEqual(seen, [
      ['rows', { a: 1 }, [1, 2], { success: true, message: 'Found 2' }],
      ['rows', {}, null, undefined],
    ])
    assert.deepEqual(
      manager.getAllPointers().map(({ toolDescription }) => toolDescription),
      ['rows: 2 rows, Found 2', 'rows: no rows, no message'],
    )
  })

  test('is listed in the prompt of a selector', async () => {
    const manager = inMemory()
    await manager.saveContext('rows', { q: 'one' }, { results: [1, 2, 3], total: 3 })
    await manager.saveContext('grep', { q: 'two' }, 'x', null, null, { message: 'Found 150 matches for login' })
    await manager.saveContext('read', { q: 'three' }, 'a\nb\nc')
    await failed(manager)
    let prompt = ''
    await manager.selectContexts('anything at all', {
      selector: (request) => {
        prompt = request.prompt
        return { context_ids: [] }
      },
    })
    for (const found of [
      'found: results: array of 3 numbers',
      'found: Found 150 matches for login',
      'found: 3 lines of text',
      `failed: ${MESSAGE}`,
    ]) {
      holds(prompt.includes(` - ${found}`), `${found} is not in ${prompt}`)
    }
  })
})

describe('JSON in a string', () => {
  test('is read by a JSON path', async () => {
    const manager = inMemory()
    const value = { results: [{ name: 'one' }, { name: 'two' }], 'a"b': 1 }
    const long = { ...value, padding: 'x'.repeat(2000) }
    for (const json of [JSON.stringify(value), JSON.stringify(long), ` ${JSON.stringify(value, null, 2)}\n`]) {
      const path = await manager.saveContext('mcp', {}, json)
      assert.equal((await manager.readContext(path, { jsonPath: '$.results[1].name' })).text, 'two')
      assert.deepEqual((await manager.readContext(path, { jsonPath: '$.results[*].name' })).paths, [
        "$['results'][0]['name']",
        "$['results'][1]['name']",
      ])
      assert.equal((await manager.readContext(path)).text, json, 'without a path it is the text')
    }
    const text = await manager.saveContext('t', {}, '{no JSON')
    assert.equal((await manager.readContext(text, { jsonPath: '$' })).text, '{no JSON')
  })

  test('is offered wherever the placeholder shows an outline', async () => {
    const manager = inMemory()
    const rows = Array.from({ length: 500 }, (_, id) => ({ id, name: `name ${id}` }))
    const { text, handle } = await manager.offload('mcp', {}, JSON.stringify({ rows }))
    holds(text.includes('rows: array of 500 objects') && text.includes('"json_path":"$.…"'), text)
    assert.equal((await manager.readContext(String(handle), { jsonPath: '$.rows[499].name' })).text, 'name 499')
  })
})

describe('grepContexts', () => {
  test('finds whole lines in many contexts, the latest first', async () => {
    const manager = inMemory()
    const long = `${'x'.repeat(5000)} needle`
    const first = await manager.saveContext('read_file', {}, `one\nneedle 1\nthree\n${long}`)
    const second = await manager.saveContext('grep', {}, 'needle 2')
    await manager.saveContext('grep', {}, 'nothing')
    const failure = await failed(manager)
    const all = await manager.grepContexts('needle', { before: 1, after: 1 })
    assert.deepEqual(all, {
      found: [
        { filepath: second, lines: [{ line: 1, byteOffset: 0, text: 'needle 2', before: [], after: [] }] },
        {
          filepath: first,
          lines: [
            { line: 2, byteOffset: 4, text: 'needle 1', before: ['one'], after: ['three'] },
            { line: 4, byteOffset: 19, text: long, before: ['three'], after: [] },
          ],
        },
      ],
      searched: 4,
      skipped: 0,
      isComplete: true,
    })
    assert.deepEqual((await manager.grepContexts(/NEEDLE \d$/i, { filter: { toolName: 'grep' } })).found.length, 1)
    const given = await manager.grepContexts('econnrefused', {
      paths: [failure, '/virtual/contexts/gone.json'],
      ignoreCase: true,
    })
    assert.deepEqual([given.found[0]?.filepath, given.searched, given.skipped], [failure, 1, 1])
  })

  test('is bounded', async () => {
    const manager = inMemory()
    await manager.saveContext('t', {}, 'needle\n'.repeat(50))
    await manager.saveContext('t', {}, 'needle\n'.repeat(50))
    const count = async (options: object): Promise<[number, boolean]> => {
      const { found, isComplete } = await manager.grepContexts('needle', options)
      return [found.flatMap(({ lines }) => lines).length, isComplete]
    }
    assert.deepEqual(await count({}), [100, true])
    assert.deepEqual(await count({ limit: 70 }), [70, false])
    assert.deepEqual(await count({ maxBytes: 60 }), [10, false])
  })

  test('refuses what makes no sense', async () => {
    const manager = inMemory()
    const refused = (options: unknown, names: RegExp, pattern: unknown = 'a'): Promise<unknown> =>
      rejectsWith(
        () => manager.grepContexts(pattern as string, options as object),
        'ERR_CONTEXT_INVALID_ARGUMENT',
        names,
      )
    await refused({}, /pattern/, 7)
    await refused({}, /position|regular|parenthes|group/i, '(')
    await refused({ paths: 'a' }, /paths/)
    await refused({ paths: [], filter: {} }, /filter/)
    await refused({ filter: { tool: 'x' } }, /toolName/)
    await refused({ befor: 1 }, /before/)
    await refused({ after: -1 }, /after/)
  })
})

describe('a word that occurs nowhere', () => {
  test('finds what it may mean, after all other hits', async () => {
    const manager = inMemory()
    const cluster = await manager.saveContext('read_file', { path: 'a' }, 'the kubernetes cluster is up')
    const effect = await manager.saveContext('read_file', { path: 'b' }, 'an effect of the authentication')
    for (const [query, path] of [
      ['kuberntes', cluster],
      ['ffect', effect],
      ['uthenticatio', effect],
    ] as const) {
      const hits = await manager.search(query)
      assert.deepEqual(
        hits.map(({ filepath, matchedBy }) => [filepath, matchedBy]),
        [[path, 'fuzzy']],
        query,
      )
      holds((hits[0]?.snippets.length ?? 0) > 0 && (hits[0]?.score ?? 2) <= 1, query)
    }
    const both = await manager.search('authentication kuberntes')
    assert.deepEqual(
      both.map(({ filepath, matchedBy }) => [filepath, matchedBy]),
      [
        [effect, undefined],
        [cluster, 'fuzzy'],
      ],
    )
    holds((both[0]?.score ?? 0) >= (both[1]?.score ?? 1), 'scores fall')
    assert.deepEqual(await manager.search('zanzibar'), [])
    assert.deepEqual(await manager.search('kuberntes', { toolName: 'grep' }), [])
    assert.deepEqual(await manager.search('kuberntes -cluster'), [])
    assert.deepEqual(await manager.search('kuberntes', { limit: 0 }), [])
  })

  test('changes nothing where words occur', async () => {
    const manager = inMemory()
    await manager.saveContext('read_file', { path: 'a' }, 'the cluster')
    await manager.saveContext('read_file', { path: 'b' }, 'the clusters and the blusters')
    const hits = await manager.search('bluster')
    assert.deepEqual(
      hits.map(({ args, matchedBy }) => [args['path'], matchedBy]),
      [['b', undefined]],
    )
  })
})
