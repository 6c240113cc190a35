/** The map of a repository, and the symbols of its files, through the public API. */

import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { RepoMapProgress, RepoMemory } from '../dist/index.js'
import { inDirectory, only, rejectsWith } from './support/fixtures.ts'
import { memoryOf, plant } from './support/memories.ts'
import { holds, namesIn } from './support/processes.ts'

const FILES: Record<string, string> = {
  'src/login.ts':
    "import { hash } from './hash'\n/** Logs in. */\nexport class LoginForm {\n  submit(password: string): boolean {\n    return hash(password) === ''\n  }\n}\n",
  'src/hash.ts': 'export function hash(text: string): string {\n  return text\n}\nexport const ROUNDS = 12\n',
  'src/invoice.ts': "import { hash } from './hash'\nexport const invoice = (id: string): string => hash(id)\n",
  'tools/build.py': 'class Builder:\n    def build(self, target):\n        pass\n',
  'README.md': '# No source file\n',
  'node_modules/peer/index.js': 'export function peer() {}\n',
}

/** A workspace with these files, and its memory beside it. */
async function inWorkspace(
  body: (memory: RepoMemory, workspace: string, root: string) => Promise<void>,
  files = FILES,
): Promise<void> {
  await inDirectory(async (directory) => {
    const [workspace, root] = [join(directory, 'workspace'), join(directory, 'root')]
    for (const [path, text] of Object.entries(files)) {
      plant(join(workspace, path), text)
    }
    await body(await memoryOf(workspace, root), workspace, root)
  })
}

describe('a repository map', () => {
  it('shows the source files and what they define', () =>
    inWorkspace(async (memory) => {
      const map = await memory.repoMap()
      assert.deepEqual(map.files.map(({ path }) => path).sort(), [
        'src/hash.ts',
        'src/invoice.ts',
        'src/login.ts',
        'tools/build.py',
      ])
      assert.deepEqual([map.totalFiles, map.isTruncated], [4, false])
      const login = only(map.files.filter(({ path }) => path === 'src/login.ts'))
      assert.deepEqual(login.symbols, [
        { name: 'LoginForm', kind: 'class', line: 3, signature: 'export class LoginForm' },
        {
          name: 'submit',
          kind: 'method',
          line: 4,
          signature: 'submit(password: string): boolean',
          container: 'LoginForm',
        },
      ])
      for (const shown of [
        'src/login.ts',
        'LoginForm',
        'submit(password: string)',
        'class Builder',
        'tools/build.py',
      ]) {
        holds(map.text.includes(shown), `${shown} is not in ${map.text}`)
      }
      assert.deepEqual(await memory.repoMap(), map, 'the same again')
      holds(namesIn(join(memory.directory, 'indexes')).length > 0, 'a cache')
    }))

  it('keeps to its budget', () =>
    inWorkspace(async (memory) => {
      const whole = await memory.repoMap({ maxChars: Number.POSITIVE_INFINITY })
      for (let maxChars = 0; maxChars <= whole.text.length + 5; maxChars += 3) {
        const { text, files } = await memory.repoMap({ maxChars })
        holds(text.length <= maxChars, `${text.length} of ${maxChars}`)
        holds(
          files.every(({ path }) => text.includes(path)),
          'files are those of the text',
        )
        holds(maxChars < whole.text.length || text === whole.text, 'all of it where there is room')
      }
      assert.equal((await memory.repoMap()).text, whole.text)
    }))

  it('is drawn around its focus', () =>
    inWorkspace(async (memory) => {
      for (const [focus, first] of [
        ['tools/build.py', 'tools/build.py'],
        ['src/invoice.ts', 'src/invoice.ts'],
        ['LoginForm', 'src/login.ts'],
      ] as const) {
        assert.equal((await memory.repoMap({ focus: [focus] })).files[0]?.path, first, focus)
        const pack = await memory.buildContextFromMemory(150, { repoMap: { focus: [focus] } })
        holds(pack.startsWith(`## Repository map\n\`\`\`\n${first}\n`), pack)
      }
      const pack = await memory.buildContextFromMemory(150, { query: 'build a target' })
      holds(pack.includes('tools/build.py'), pack)
    }))

  it('knows what changed', () =>
    inWorkspace(async (memory, workspace, root) => {
      await memory.repoMap()
      await setTimeout(20)
      writeFileSync(
        join(workspace, 'src/hash.ts'),
        'export function digest(text: string): string {\n  return text\n}\n',
      )
      rmSync(join(workspace, 'tools'), { recursive: true })
      plant(join(workspace, 'src/new.rs'), 'pub struct Fresh;\n')
      for (const one of [memory, await memoryOf(workspace, root)]) {
        const { text, files } = await one.repoMap()
        assert.deepEqual(files.map(({ path }) => path).sort(), [
          'src/hash.ts',
          'src/invoice.ts',
          'src/login.ts',
          'src/new.rs',
        ])
        holds(text.includes('digest') && text.includes('Fresh') && !text.includes('ROUNDS'), text)
      }
    }))

  it('reports its progress, and nothing after it has ended', () =>
    inWorkspace(
      async (memory, workspace, root) => {
        const told: RepoMapProgress[] = []
        let isSettled = false
        await memory.repoMap({
          onProgress: (progress) => {
            assert.equal(isSettled, false, 'told after the promise settled')
            told.push(progress)
            throw new Error('a display that fails')
          },
        })
        isSettled = true
        await setTimeout(50)
        holds(told.length >= 2, `told ${told.length} times`)
        holds(
          told.every(({ done, total, parsed }) => done <= total && parsed <= done && total === 300),
          JSON.stringify(told),
        )
        const done = told.map((progress) => progress.done)
        assert.deepEqual(
          done,
          [...done].sort((one, other) => one - other),
        )
        assert.deepEqual(told.at(-1), { done: 300, total: 300, parsed: 300 })
        // Now they are known.
        const again: RepoMapProgress[] = []
        const next = await memoryOf(workspace, root)
        await next.repoMap({ onProgress: (progress) => void again.push(progress) })
        assert.equal(again.at(-1)?.parsed, 0)
      },
      Object.fromEntries(
        Array.from({ length: 300 }, (_, n) => [`src/file-${n}.ts`, `export const value${n} = ${n}\n`]),
      ),
    ))

  it('is not made when the signal says so', () =>
    inWorkspace(async (memory) => {
      const reason = new Error('not any more')
      const isReason = (error: unknown): boolean => error === reason
      const signal = AbortSignal.abort(reason)
      await assert.rejects(() => memory.repoMap({ signal }), isReason)
      await assert.rejects(() => memory.symbols('src/hash.ts', { signal }), isReason)
      for (const call of [
        (signal: AbortSignal) => memory.repoMap({ signal, onProgress: () => assert.fail('told after it was stopped') }),
        (signal: AbortSignal) => memory.symbols('src/hash.ts', { signal }),
        (signal: AbortSignal) => memory.buildContextFromMemory(500, { signal }),
      ]) {
        const controller = new AbortController()
        const promise = call(controller.signal)
        controller.abort(reason)
        await assert.rejects(promise, isReason)
      }
      assert.equal((await memory.repoMap()).totalFiles, 4)
    }))

  it('takes the room that records leave in a pack', () =>
    inWorkspace(async (memory) => {
      const alone = await memory.buildContextFromMemory(5000)
      assert.equal(alone, `## Repository map\n\`\`\`\n${(await memory.repoMap()).text}\n\`\`\``)
      await memory.upsertNote({ content: 'a note' })
      const both = await memory.buildContextFromMemory(5000)
      assert.match(both, /^## Notes\n- a note.*\n\n## Repository map\n```\n/)
      const without = await memory.buildContextFromMemory(5000, { repoMap: false })
      assert.match(without, /^## Notes\n- a note [^\n]*$/)
      for (let maxChars = 0; maxChars < both.length + 10; maxChars += 7) {
        const text = await memory.buildContextFromMemory(maxChars)
        holds(text.length <= maxChars, `${text.length} of ${maxChars}`)
      }
    }))

  it('is left out where the workspace cannot be read', () =>
    inWorkspace(async (memory, workspace) => {
      await memory.upsertNote({ content: 'a note' })
      rmSync(workspace, { recursive: true })
      await rejectsWith(() => memory.repoMap(), 'ERR_CONTEXT_NOT_FOUND')
      assert.match(await memory.buildContextFromMemory(5000), /^## Notes\n- a note/)
    }))
})

describe('symbols()', () => {
  it('gives what a file defines, in its order', () =>
    inWorkspace(async (memory, workspace) => {
      const expected = [
        { name: 'hash', kind: 'function', line: 1, signature: 'export function hash(text: string): string' },
        { name: 'ROUNDS', kind: 'constant', line: 4, signature: 'export const ROUNDS = 12' },
      ]
      for (const path of ['src/hash.ts', './src/hash.ts', join(workspace, 'src', 'hash.ts')]) {
        assert.deepEqual(await memory.symbols(path), expected, path)
      }
      const [, build] = await memory.symbols('tools/build.py')
      assert.deepEqual([build?.name, build?.kind, build?.container], ['build', 'method', 'Builder'])
    }))

  it('rejects what is no source file of the map', () =>
    inWorkspace(async (memory, workspace) => {
      plant(join(workspace, '..', 'outside.ts'), 'export const outside = 1\n')
      for (const path of [
        'src/missing.ts',
        'README.md',
        'src',
        'node_modules/peer/index.js',
        '../outside.ts',
        'src/../../outside.ts',
        join(workspace, '..', 'outside.ts'),
        '/etc/passwd',
        'src/\ud800.ts',
      ]) {
        await rejectsWith(() => memory.symbols(path), 'ERR_CONTEXT_NOT_FOUND')
      }
    }))
})
