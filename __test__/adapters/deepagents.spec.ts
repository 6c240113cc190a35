/** `agent-context/deepagents` under deepagents; its backend of files on disk is the model. */

import { join } from 'node:path'
import { StateStore } from 'agent-context'
import { ContextBackend } from 'agent-context/deepagents'
import { CompositeBackend, FilesystemBackend } from 'deepagents'
import { describe, expect, test } from 'vitest'
import { newDirectory, runGuide, runScript } from './support/fixtures.ts'
import { randomOf } from './support/random.ts'

const openStore = () => new StateStore({ path: join(newDirectory(), 'state.db') })
const bytes = (...values: number[]) => new Uint8Array(values)

type Operation = readonly [method: string, ...parameters: unknown[]]

/** A `ContextBackend`, and files on disk beside it. */
function newPair() {
  const state = openStore()
  const backend = new ContextBackend(state)
  const directory = newDirectory()
  const onDisk = new FilesystemBackend({ rootDir: directory, virtualMode: true })
  // Ripgrep leaves out what is hidden, and what a `.gitignore` names.
  const model = Object.assign(onDisk, { ripgrepSearch: async () => null })

  const outcomeOf = async (target: object, [method, ...parameters]: Operation): Promise<unknown> => {
    const call = (target as Record<string, (...given: unknown[]) => unknown>)[method]
    const [outcome] = await Promise.allSettled([(async () => call?.apply(target, structuredClone(parameters)))()])
    if (outcome.status === 'rejected') {
      return { error: `Error reading file: ${outcome.reason.message}` }
    }
    return comparable(outcome.value, directory)
  }

  return {
    state,
    backend,
    async expectEqual(operation: Operation): Promise<void> {
      const [found, expected] = [await outcomeOf(backend, operation), await outcomeOf(model, operation)]
      if (operation[0] === 'readRaw' && (expected as { error?: string }).error !== undefined) {
        // The model throws, or says that there is no such file.
        expect(found).toEqual({ error: `File '${operation[1]}' not found` })
        return
      }
      expect(found, JSON.stringify(operation)).toEqual(expected)
    },
  }
}

/** Without times and places on disk; matches in the order of paths, bytes as arrays. */
function comparable(value: unknown, directory: string): unknown {
  const text = JSON.stringify(value, (name, member) => {
    if (ArrayBuffer.isView(member)) {
      return [...(member as Uint8Array)]
    }
    if (member?.type === 'Buffer') {
      return member.data
    }
    if (name === 'matches') {
      return [...member].sort((one, other) => one.path.localeCompare(other.path) || one.line - other.line)
    }
    return name.endsWith('_at') ? new Date(member).toISOString().length : member
  })
  return JSON.parse(text.replaceAll(`${directory}/`, '/').replaceAll(directory, '/'))
}

async function expectEqual(operations: readonly Operation[]): Promise<void> {
  const { state, expectEqual } = newPair()
  for (const operation of operations) {
    await expectEqual(operation)
  }
  await state.close()
}

describe('ContextBackend', () => {
  test('answers each call as files on disk do', () =>
    expectEqual([
      ['ls', '/'],
      ['write', '/a.txt', 'one\ntwo\nthree\n'],
      ['write', '/a.txt/b', 'below a file'],
      ['write', '/a.txt/b/c', 'below a file'],
      ['write', '/a.txt/b/c/d', 'below a file'],
      ['write', '/', 'the root'],
      ['write', '', 'the root'],
      ['write', '/src/deep/x.ts', 'const one = 1'],
      ['write', '/src', 'a directory'],
      ['write', 'relative.md', '# one'],
      ['write', '/slash/', 'a file'],
      ['write', '/.env', 'one=1'],
      ['write', '/image.png', 'iVBORw0KGgo='],
      ['write', '/empty.txt', ''],
      ['write', '/blank.txt', ' \n'],
      ['ls', '/'],
      ['ls', 'src'],
      ['ls', '/src/'],
      ['ls', ''],
      ['ls', '/missing'],
      ['ls', '/a.txt'],
      ['read', '/a.txt'],
      ['read', '/a.txt', 1, 1],
      ['read', '/a.txt', 2, 10],
      ['read', '/a.txt', 3],
      ['read', '/a.txt', -1, 1.5],
      ['read', '/a.txt', 0, 0],
      ['read', '/a.txt', Number.NaN, Number.POSITIVE_INFINITY],
      ['read', '/a.txt/'],
      ['read', '/a.txt/b'],
      ['read', '/missing'],
      ['read', '/src'],
      ['read', '/empty.txt'],
      ['read', '/blank.txt'],
      ['read', '/image.png'],
      ['readRaw', '/a.txt'],
      ['readRaw', '/image.png'],
      ['readRaw', '/missing'],
      ['readRaw', '/src'],
      ['edit', '/a.txt', 'two', '$& 2'],
      ['edit', '/a.txt', 'e', 'E'],
      ['edit', '/a.txt', 'e', 'E', true],
      ['edit', '/a.txt', 'none', ''],
      ['edit', '/a.txt', '', 'x'],
      ['edit', '/empty.txt', '', 'no more'],
      ['edit', '/missing/x', 'a', 'b'],
      ['edit', '/a.txt/x', 'a', 'b'],
      ['edit', '/src', 'a', 'b'],
      ['read', '/a.txt'],
      ['grep', 'one'],
      ['grep', 'one', '/src'],
      ['grep', 'one', null, '*.md'],
      ['grep', 'one', '/', '*'],
      ['grep', 'one', '/', '.*'],
      ['grep', 'one', '/missing'],
      ['grep', 'o', '/', null, 100],
      ['glob', '**/*.ts'],
      ['glob', '/src/**'],
      ['glob', '*', '/src'],
      ['glob', '*', '/a.txt'],
      ['glob', '{a,e*}.txt'],
      ['glob', '[a-e]*.txt'],
      ['glob', '[!a]*.t?t'],
      ['glob', '.*'],
      ['glob', './*.md'],
      ['glob', 'a.txt/**'],
      ['glob', ''],
      [
        'uploadFiles',
        [
          ['/u/bytes.bin', bytes(255, 0, 128)],
          ['/u/text.txt', bytes(0xef, 0xbb, 0xbf, 104, 105)],
          ['/src', bytes(1)],
          ['/a.txt/x', bytes(1)],
          ['/../x', bytes(1)],
        ],
      ],
      ['downloadFiles', ['/u/bytes.bin', '/u/text.txt', '/src', '/a.txt/x', '/../x', '/missing', '/image.png']],
      ['read', '/u/bytes.bin'],
      ['read', '/u/text.txt'],
      ['delete', '/missing'],
      ['delete', '/missing/x'],
      ['delete', '/a.txt/x'],
      ['delete', '/a.txt/x/y'],
      ['delete', '/src/deep/x.ts'],
      ['ls', '/src'],
      ['delete', '/src'],
      ['ls', '/'],
      ['delete', '/'],
      ['ls', '/'],
    ]))

  test('refuses paths that could leave the tree, as files on disk do', () => {
    const paths = [
      '/../x',
      '/a/../b',
      '..',
      '/a..b',
      '//etc/passwd',
      '/~',
      '~/x',
      '/a/./b',
      '/a//b',
      '/%2e%2e/x',
      '\\..\\x',
    ]
    return expectEqual(
      paths.flatMap((path): Operation[] => [
        ['write', path, 'x'],
        ['read', path],
        ['edit', path, 'x', 'y'],
        ['ls', path],
        ['glob', '*', path],
        ['uploadFiles', [[path, bytes(1)]]],
        ['downloadFiles', [path]],
        ['delete', path],
      ]),
    )
  })

  test('random operations give what files on disk give', async () => {
    const { state, expectEqual } = newPair()
    const random = randomOf(14)
    const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T
    const names = ['a', 'b', 'x.md', 'y.ts', '.h', 'p.png', 'ä ö', 'z.JSON']
    const parts = ['*', '**', '?', 'a', 'b', '*.md', '*.{ts,md}', '[ab]', '.h', 'x*', '?.*']
    const pathOf = () => `/${Array.from({ length: random(4) }, () => pick(names)).join('/')}`
    const globOf = () => Array.from({ length: 1 + random(3) }, () => pick(parts)).join('/')
    const textOf = () => Array.from({ length: random(6) }, () => pick(['one', 'two', '', 'ünï', 'one one'])).join('\n')
    for (let round = 0; round < 2000; round++) {
      const path = pathOf()
      const operation = pick<() => Operation>([
        () => ['write', path, textOf()],
        () => ['write', path, textOf()],
        () => ['write', path, textOf()],
        () => ['read', path, random(4), random(5)],
        () => ['read', path],
        () => ['readRaw', path],
        () => ['edit', path, pick(['one', 'two', '', 'ü']), textOf(), random(2) === 0],
        () => ['ls', path],
        () => ['glob', globOf(), path],
        // The model searches the directory of a file, where it is given one.
        () => ['grep', pick(['one', 'ü', '']), '/', pick([null, '*.md', '*', '?', '{a,b}'])],
        () => ['uploadFiles', [[path, bytes(random(256), random(256))]]],
        () => ['downloadFiles', [path, pathOf()]],
        () => ['delete', path],
      ])()
      await expectEqual(operation)
    }
    await state.close()
  })

  test('searches one file where it is given one, and stops at the most matches', async () => {
    const state = openStore()
    const backend = new ContextBackend(state)
    await backend.write('/a.md', 'one\none\none')
    await backend.write('/src/b.md', 'one')
    expect((await backend.grep('one', '/a.md')).matches).toHaveLength(3)
    expect(await backend.grep('one', '/', null, 2)).toEqual({
      matches: [
        { path: '/a.md', line: 1, text: 'one' },
        { path: '/a.md', line: 2, text: 'one' },
      ],
      truncated: true,
    })
    expect((await backend.grep('one', '/', 'src/*.md')).matches).toEqual([{ path: '/src/b.md', line: 1, text: 'one' }])
    await state.close()
  })

  test('finds no file outside, and is not kept busy by a pattern', async () => {
    const state = openStore()
    await new ContextBackend(state, { namespace: ['other'] }).write('/secret.txt', 'x')
    const backend = new ContextBackend(state)
    await backend.write(`/${'a'.repeat(250)}`, 'x')
    expect((await backend.glob('../**')).files).toEqual([])
    expect((await backend.glob('**')).files).toHaveLength(1)
    expect((await backend.glob(`${'a*'.repeat(100)}b`)).files).toEqual([])
    expect((await backend.glob('{a,b}'.repeat(40))).files).toEqual([])
    expect((await backend.ls('/')).files).toHaveLength(1)
    await state.close()
  })

  test('loses no edit of many at once, by two stores of one file', async () => {
    const directory = newDirectory()
    const states = [1, 2].map(() => new StateStore({ path: join(directory, 'state.db') }))
    const backends = states.map((state) => new ContextBackend(state))
    const numbers = Array.from({ length: 20 }, (_, index) => index)
    await backends[0]?.write('/log.md', numbers.map((index) => `line ${index}.`).join('\n'))
    const edits = numbers.map((index) => backends[index % 2]?.edit('/log.md', `line ${index}.`, `done ${index}.`))
    const writes = numbers.map((index) => backends[index % 2]?.write(`/new/${index}.md`, 'x'))
    const results = await Promise.all([...edits, ...writes])
    expect(results.filter((result) => result?.error !== undefined)).toEqual([])
    expect((await backends[1]?.read('/log.md'))?.content).toBe(numbers.map((index) => `done ${index}.`).join('\n'))
    expect((await backends[1]?.ls('/new'))?.files).toHaveLength(20)
    await Promise.all(states.map((state) => state.close()))
  })

  test('is a route of a CompositeBackend', async () => {
    const state = openStore()
    const routes = { '/memories/': new ContextBackend(state, { namespace: ['user', 'ann'] }) }
    const composite = new CompositeBackend(new ContextBackend(state, { namespace: ['thread', '1'] }), routes)
    await composite.write('/memories/a.md', 'Ann likes tea')
    await composite.write('/b.md', 'tea')
    expect((await composite.grep('tea', '/')).matches?.map(({ path }) => path).sort()).toEqual([
      '/b.md',
      '/memories/a.md',
    ])
    const own = new ContextBackend(state, { namespace: ['user', 'ann'] })
    expect((await own.ls('/')).files.map(({ path }) => path)).toEqual(['/a.md'])
    await state.close()
  })

  test('says which versions have its protocol, and refuses wrong arguments', () => {
    const backend = new ContextBackend(openStore())
    for (const method of ['lsInfo', 'grepRaw', 'globInfo'] as const) {
      expect(() => backend[method]()).toThrow(
        expect.objectContaining({
          code: 'ERR_CONTEXT_UNSUPPORTED',
          message: expect.stringContaining('deepagents ^1.14.0'),
        }),
      )
    }
    expect(() => new ContextBackend({} as never)).toThrow('state must be a StateStore')
    expect(() => new ContextBackend(openStore(), { namespace: [''] })).toThrow('namespace must be an array')
    expect(() => new ContextBackend(openStore(), { namspace: [] } as never)).toThrow("did you mean 'namespace'")
  })
})

test('a large output is moved to the store, and another process goes on with the thread and reads it', () => {
  const home = newDirectory()
  const [stored, resumed] = ['first', 'second'].map((part) => runScript('support/deepagents-turn.ts', [part], home))
  expect(Number(stored)).toBeLessThan(10_000)
  expect(resumed?.trim()).toBe('Customer number 7')
})

test('the example runs, and says what is saved', () => {
  const output = runScript('examples/deepagents.ts')
  expect(output).toMatch(/without: \d{6} bytes/)
  expect(output).toMatch(/with: +\d{4} bytes/)
})

test('the guide runs', () => {
  const modules = {
    'agent.ts': `
import { tool } from 'langchain'
import { z } from 'zod'
import { ScriptedChatModel } from '../../support/langchain-model.ts'
import { LARGE_CUSTOMERS, grepCall, customerIn } from '../../support/deepagents-run.ts'
import { callOf } from '../../support/script.ts'
export const model = new ScriptedChatModel([callOf('search_customers'), grepCall, customerIn])
export const searchCustomers = tool(async () => LARGE_CUSTOMERS, { name: 'search_customers', description: 'd', schema: z.object({}) })
`,
  }
  const output = runGuide('deepagents', modules)
  expect(output).toContain('Customer number 7')
  expect(output).toContain('/large_tool_results/')
})
