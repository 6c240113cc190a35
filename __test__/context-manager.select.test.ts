/** `selectRelevantContexts` and `selectContexts`: what a question needs. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ContextManager, type SelectablePointer, type SelectedContext } from '../dist/index.js'
import { inDirectory, nested, rejectsWith, throwsWith, wrong } from './support/fixtures.ts'

type Call = [tool: string, args: Record<string, unknown>]

/** A manager without a disk that holds these calls, and the paths by tool and place. */
async function managerWith(...calls: Call[]): Promise<{ manager: ContextManager; paths: string[] }> {
  const manager = new ContextManager({ contextDir: '/tmp/agent-context-never-written', persist: 'large' })
  const paths: string[] = []
  for (const [tool, args] of calls) {
    paths.push(await manager.saveContext(tool, args, 'result'))
  }
  return { manager, paths }
}

describe('selectRelevantContexts', () => {
  it('gives nothing for nothing', async () => {
    const { manager } = await managerWith(['grep', { q: 'login' }])
    assert.deepEqual(manager.selectRelevantContexts('login', []), [])
  })

  const finds: [query: string, path: string][] = [
    ['login', '/src/auth/LoginForm.tsx'],
    ['how does the login work?', '/src/auth/LoginForm.tsx'],
    ['LOGIN FORM', '/src/auth/LoginForm.tsx'],
    ['loginForm', '/src/auth/login_form.py'],
    ['login_form', '/src/auth/LoginForm.tsx'],
    ['auth', '/src/auth/LoginForm.tsx'],
    ['tsx', '/src/auth/LoginForm.tsx'],
    ['parse', 'lib/parse_http_request.c'],
    ['http', 'src/HTTPServer.java'],
    ['server', 'src/HTTPServer.java'],
    ['parseHTTPRequest', 'lib/parse_http_request.c'],
    ['sha', 'src/sha256.rs'],
    ['256', 'src/sha256.rs'],
    ['sha256', 'src/Sha256.rs'],
    ['running tests', 'test/run.ts'],
    ['connections', 'src/connection.ts'],
    ['connected', 'src/connect.ts'],
    ['東京', 'docs/東京都の天気.md'],
    ['weather in 東京', 'docs/東京都の天気.md'],
    ['cafe', 'menu/Café.txt'],
    ['café', 'menu/cafe.txt'],
    ['привет', 'docs/ПРИВЕТ.md'],
    ['zürich', 'city/Zurich.json'],
  ]
  for (const [query, path] of finds) {
    it(`"${query}" finds ${path}`, async () => {
      const { manager, paths } = await managerWith(['read_file', { path: 'README.md' }], ['read_file', { path }])
      assert.deepEqual(manager.selectRelevantContexts(query, manager.getAllPointers()), [paths[1]])
    })
  }

  it('reads tool names, descriptions and nested arguments', async () => {
    const { manager, paths } = await managerWith(
      ['query_database', { n: 1 }],
      ['run', { n: 1, options: { deep: [{ target: 'kubernetes' }] } }],
      ['other', { weather: 5 }],
    )
    const select = (query: string): string[] => manager.selectRelevantContexts(query, manager.getAllPointers())
    assert.deepEqual(select('database'), [paths[0]])
    assert.deepEqual(select('kubernetes'), [paths[1]])
    assert.deepEqual(select('weather'), [paths[2]])
    const described = new ContextManager({ persist: 'large', describe: (tool) => `Zebra ${tool}` })
    const zebra = await described.saveContext('horse', {}, 1)
    assert.deepEqual(described.selectRelevantContexts('zebras', described.getAllPointers()), [zebra])
  })

  it('puts the better match first', async () => {
    const { manager, paths } = await managerWith(
      ['grep', { q: 'user' }],
      ['grep', { q: 'login user password' }],
      ['grep', { q: 'login' }],
      ['grep', { q: 'weather' }],
    )
    const found = manager.selectRelevantContexts('login password', manager.getAllPointers())
    assert.deepEqual(found, [paths[1], paths[2]])
  })

  it('puts the most recent first where scores are equal', async () => {
    const same: Call = ['grep', { q: 'login' }]
    const { manager, paths } = await managerWith(same, ['other', { x: 'y' }], same, same)
    assert.deepEqual(manager.selectRelevantContexts('login', manager.getAllPointers()), [paths[3], paths[2], paths[0]])
    assert.deepEqual(
      manager.selectRelevantContexts('login', manager.getAllPointers().reverse()),
      [paths[3], paths[2], paths[0]],
      'whatever the order they come in',
    )
    const foreign = [3, 1, 2].map((timestamp) => ({ filepath: `/x/${timestamp}`, toolName: 'login', timestamp }))
    assert.deepEqual(manager.selectRelevantContexts('login', foreign), ['/x/3', '/x/2', '/x/1'])
  })

  it('gives all in their order when nothing matches', async () => {
    const { manager, paths } = await managerWith(['a', { q: 'one' }], ['b', { q: 'two' }], ['c', { q: 'three' }])
    const pointers = manager.getAllPointers()
    for (const query of ['zebra', '', '   ', '?!', 'the', 'what is it', '\0', '\ud800', '😀']) {
      assert.deepEqual(manager.selectRelevantContexts(query, pointers), paths, JSON.stringify(query))
    }
    assert.deepEqual(manager.selectRelevantContexts('zebra', [...pointers].reverse()), [...paths].reverse())
  })

  it('never matches stop words', async () => {
    const { manager, paths } = await managerWith(['say', { q: 'what is the' }], ['grep', { q: 'login' }])
    const pointers = manager.getAllPointers()
    assert.deepEqual(manager.selectRelevantContexts('what is the login', pointers), [paths[1]])
    assert.deepEqual(manager.selectRelevantContexts('what is the', pointers), paths)
  })

  it('chooses only among the given pointers', async () => {
    const { manager, paths } = await managerWith(['a', { q: 'login' }], ['b', { q: 'login' }], ['c', { q: 'x' }])
    const pointers = manager.getAllPointers()
    assert.deepEqual(manager.selectRelevantContexts('login', pointers.slice(0, 1)), [paths[0]])
    assert.deepEqual(manager.selectRelevantContexts('login', pointers.slice(2)), [paths[2]], 'nothing matches')
  })

  it('reads only the path of its own pointers', async () => {
    const { manager, paths } = await managerWith(['a', { q: 'login' }], ['b', { q: 'weather' }])
    const bare = paths.map((filepath) => ({ filepath }))
    assert.deepEqual(manager.selectRelevantContexts('weather', bare), [paths[1]])
    const lying = paths.map((filepath) => ({ filepath, toolName: 'weather', toolDescription: 'weather', args: {} }))
    assert.deepEqual(manager.selectRelevantContexts('weather', lying), [paths[1]])
  })

  it('takes pointers that it does not know', async () => {
    const { manager } = await managerWith(['own', { q: 'weather' }])
    const foreign = (
      name: string,
      description: string,
      args: Record<string, unknown>,
    ): SelectablePointer & { filename: string } => ({
      filepath: `/elsewhere/${name}.json`,
      filename: `${name}.json`,
      toolName: name,
      toolDescription: description,
      args,
    })
    const pointers = [
      foreign('read_file', 'read_file: a', { path: 'src/auth/LoginForm.tsx' }),
      foreign('login_user', 'x', {}),
      foreign('other', 'looked at the login', {}),
      foreign('nothing', 'nothing', { path: 'README.md' }),
    ]
    const found = manager.selectRelevantContexts('login', pointers)
    assert.deepEqual(found.sort(), ['/elsewhere/login_user.json', '/elsewhere/other.json', '/elsewhere/read_file.json'])
    assert.deepEqual(manager.selectRelevantContexts('readme', pointers), ['/elsewhere/nothing.json'])
    assert.deepEqual(manager.selectRelevantContexts('x', [{ filepath: '/only/a/path' }]), ['/only/a/path'])
    const fresh = new ContextManager()
    assert.deepEqual(fresh.selectRelevantContexts('readme', pointers), ['/elsewhere/nothing.json'])
  })

  it('takes a mixture of own, copied and foreign pointers', async () => {
    const { manager, paths } = await managerWith(
      ['a', { q: 'login one' }],
      ['b', { q: 'login two' }],
      ['c', { q: 'login three' }],
      ['d', { q: 'login four' }],
      ['e', { q: 'weather' }],
    )
    const [own, spread, round, cloned, other] = manager.getAllPointers()
    const foreign = {
      filepath: '/f',
      filename: 'f',
      toolName: 'f',
      toolDescription: 'f: login',
      args: { q: 'login six' },
    }
    const mixture = [
      foreign,
      own,
      { ...spread },
      JSON.parse(JSON.stringify(round)),
      structuredClone(cloned),
      { ...other },
    ]
    const found = manager.selectRelevantContexts('login', wrong(mixture))
    assert.deepEqual([...found].sort(), [...paths.slice(0, 4), '/f'].sort())
    assert.deepEqual(manager.selectRelevantContexts('weather', wrong(mixture)), [paths[4]])
    assert.deepEqual(manager.selectRelevantContexts('three', wrong(mixture)), [paths[2]])
  })

  it("takes another manager's pointers", async () => {
    const one = await managerWith(['a', { q: 'login' }], ['b', { q: 'weather' }])
    const two = await managerWith(['c', { q: 'traffic' }], ['d', { q: 'login' }])
    const pointers = [...one.manager.getAllPointers(), ...two.manager.getAllPointers()]
    for (const { manager } of [one, two]) {
      assert.deepEqual(manager.selectRelevantContexts('weather', pointers), [one.paths[1]])
      assert.deepEqual(manager.selectRelevantContexts('traffic', pointers), [two.paths[0]])
      const both = manager.selectRelevantContexts('login', pointers)
      assert.deepEqual([...both].sort(), [one.paths[0], two.paths[1]].sort())
    }
  })

  it('is still right with old pointers after clear and clearPointers', async () => {
    for (const end of ['clear', 'clearPointers', 'clearContextDir'] as const) {
      const { manager, paths } = await managerWith(['a', { q: 'login' }], ['b', { q: 'weather' }])
      const old = manager.getAllPointers()
      await manager[end]()
      const path = await manager.saveContext('c', { q: 'login retry' }, 1)
      const pointers = [...old, ...manager.getAllPointers().filter(({ filepath }) => filepath === path)]
      assert.deepEqual(manager.selectRelevantContexts('weather', pointers), [paths[1]], end)
      assert.deepEqual(manager.selectRelevantContexts('retry', pointers), [path], end)
      assert.deepEqual([...manager.selectRelevantContexts('login', pointers)].sort(), [paths[0], path].sort(), end)
      assert.deepEqual(
        manager.selectRelevantContexts(
          'weather',
          pointers.map((pointer) => ({ ...pointer })),
        ),
        [paths[1]],
        end,
      )
    }
  })

  it('works on an awaited call and on frozen input', async () => {
    const { manager, paths } = await managerWith(['a', { q: 'login' }], ['b', { q: 'weather' }])
    const pointers = Object.freeze(manager.getAllPointers().map((pointer) => Object.freeze(pointer)))
    assert.deepEqual(await manager.selectRelevantContexts('weather', pointers), [paths[1]])
  })

  const cycle: Record<string, unknown> = { q: 'login' }
  cycle['self'] = cycle
  const odd: [string, Record<string, unknown>][] = [
    ['cyclic args', { args: cycle }],
    ['args with a BigInt', { args: { big: 10n, q: 'login' } }],
    ['deep args', { args: { deep: nested(5000, (inner) => [inner]) }, toolName: 'login' }],
    ['args with a lone surrogate', { args: { lone: '\ud800 login' } }],
    ['null args', { args: null, toolName: 'login' }],
    ['undefined args', { args: undefined, toolDescription: 'login' }],
    ['text args', { args: 'text', toolName: 'login' }],
    ['array args', { args: [1, 'login'] }],
    ['a numeric name', { toolName: 5, toolDescription: 'login' }],
    ['a name with a lone surrogate and a NUL', { toolName: 'login \ud800 \0' }],
    ['the time NaN', { toolName: 'login', timestamp: Number.NaN }],
    ['the time Infinity', { toolName: 'login', timestamp: Number.POSITIVE_INFINITY }],
    ['a negative time', { toolName: 'login', timestamp: -1 }],
    ['a huge time', { toolName: 'login', timestamp: 1e300 }],
    ['a text as time', { toolName: 'login', timestamp: '2024' }],
    ['args whose toJSON gives nothing', { toolName: 'login', args: { toJSON: () => undefined } }],
  ]
  for (const [name, rest] of odd) {
    it(`does not mind a foreign pointer with ${name}`, async () => {
      const { manager } = await managerWith(['a', { q: 'login' }])
      const pointers = [
        { filepath: '/other', toolName: 'weather' },
        { filepath: '/odd \ud800', ...rest },
      ]
      assert.deepEqual(manager.selectRelevantContexts('login', wrong(pointers)), ['/odd \ud800'])
    })
  }

  it('throws a coded error for wrong arguments', async () => {
    const { manager } = await managerWith(['a', { q: 'login' }])
    const code = 'ERR_CONTEXT_INVALID_ARGUMENT'
    for (const query of [undefined, null, 5, {}, ['a']]) {
      throwsWith(() => manager.selectRelevantContexts(wrong(query), []), code, /query/)
    }
    for (const pointers of [undefined, null, 5, 'text', {}, new Set()]) {
      throwsWith(() => manager.selectRelevantContexts('q', wrong(pointers)), code, /availablePointers/)
    }
    for (const element of [undefined, null, 5, 'path', {}, { filepath: 5 }, []]) {
      throwsWith(() => manager.selectRelevantContexts('q', wrong([element])), code, /availablePointers\[0\]/)
      const pointers = [...manager.getAllPointers(), element]
      throwsWith(() => manager.selectRelevantContexts('q', wrong(pointers)), code, /availablePointers\[1\]/)
    }
  })
})

describe('selectContexts', () => {
  it('gives the best pointers, all that match, or all when nothing does', async () => {
    const { manager, paths } = await managerWith(
      ['grep', { q: 'weather' }],
      ['grep', { q: 'login form' }],
      ['grep', { q: 'login' }],
    )
    const select = async (...parameters: Parameters<ContextManager['selectContexts']>): Promise<string[]> =>
      (await manager.selectContexts(...parameters)).map(({ filepath }) => filepath)
    assert.deepEqual(await select('login form'), [paths[1], paths[2]])
    assert.deepEqual(await select('zebra'), paths)
    assert.deepEqual(await select(''), paths)
    for (const absent of [undefined, null]) {
      assert.deepEqual(await select('weather', wrong(absent)), [paths[0]])
      assert.deepEqual(await select('weather', { limit: wrong(absent) }), [paths[0]])
    }
    const [{ score, ...pointer } = wrong<SelectedContext>({})] = await manager.selectContexts('weather')
    assert.ok(score > 0 && score <= 1, `the score ${score}`)
    assert.deepEqual([pointer], manager.getAllPointers().slice(0, 1))
  })

  it('agrees with selectRelevantContexts', async () => {
    const words = ['login', 'form', 'weather', 'user', 'parse', 'tree']
    const calls = Array.from({ length: 60 }, (_, index): Call => {
      const pick = (step: number): string => words[(index * step) % words.length] as string
      return [`tool_${pick(1)}`, { q: `${pick(5)} ${pick(7)}`, n: index }]
    })
    const { manager } = await managerWith(...calls)
    for (const query of [...words, 'login form', 'user tree parse', 'zebra']) {
      const selected = await manager.selectContexts(query)
      assert.deepEqual(
        selected.map(({ filepath }) => filepath),
        manager.selectRelevantContexts(query, manager.getAllPointers()),
        query,
      )
    }
  })

  it('keeps to a limit', async () => {
    const { manager, paths } = await managerWith(...Array.from({ length: 5 }, (): Call => ['grep', { q: 'login' }]))
    const count = async (query: string, limit: number): Promise<string[]> =>
      (await manager.selectContexts(query, { limit })).map(({ filepath }) => filepath)
    assert.deepEqual(await count('login', 0), [])
    assert.deepEqual(await count('login', 1), [paths[4]])
    assert.deepEqual(await count('login', 2), [paths[4], paths[3]])
    assert.equal((await count('login', 100)).length, 5)
    assert.deepEqual(await count('zebra', 0), [])
    assert.deepEqual(await count('zebra', 2), paths.slice(3), 'the latest, in their order')
    for (const limit of [-1, 1.5, Number.NaN, '1', 2 ** 60]) {
      await rejectsWith(
        () => manager.selectContexts('login', { limit: wrong(limit) }),
        'ERR_CONTEXT_INVALID_ARGUMENT',
        /limit/,
      )
    }
  })

  it('rejects with the reason of an aborted signal', async () => {
    const { manager } = await managerWith(['grep', { q: 'login' }])
    const reason = new Error('no longer needed')
    for (const call of [
      (signal: AbortSignal) => manager.selectContexts('login', { signal }),
      (signal: AbortSignal) => manager.listContexts(undefined, { signal }),
      (signal: AbortSignal) => manager.sweep({ signal }),
    ]) {
      await assert.rejects(call(AbortSignal.abort(reason)), (error) => error === reason)
      const controller = new AbortController()
      const pending = call(controller.signal)
      controller.abort(reason)
      await assert.rejects(pending, (error) => error === reason)
      const late = new AbortController()
      await call(late.signal)
      late.abort(reason)
    }
    assert.equal((await manager.selectContexts('login')).length, 1)
  })

  it('does not show what was forgotten or cleared', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const first = await manager.saveContext('grep', { q: 'login' }, 1)
      const second = await manager.saveContext('grep', { q: 'login' }, 2)
      await manager.forget(second)
      assert.deepEqual(
        (await manager.selectContexts('login')).map(({ filepath }) => filepath),
        [first],
      )
      await manager.clear()
      assert.deepEqual(await manager.selectContexts('login'), [])
    }))
})
