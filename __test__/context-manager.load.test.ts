/** `loadContext` and `loadContexts`: order, what is refused, what is reported. */

import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import type { ContextErrorCode } from '../dist/index.js'
import { debugLog, inDirectory, rejectsWith, wrong } from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import { isInjected, isLocal, isOnDisk, onDisk } from './support/postgres.ts'
import { existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from './support/stored-files.ts'

const RECORD = '{"toolName":"t","toolDescription":"t","timestamp":"2024-01-15T10:30:00.000Z","args":{},"result":1}'

describe('loadContext', () => {
  it('gives the record whole, from memory and from disk', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const results = [{ small: true, list: [1, 'a', null] }, { large: 'x'.repeat(50_000) }]
      for (const result of results) {
        const path = await manager.saveContext('tool', { a: { b: 1 } }, result, 1, 'q')
        const loaded = await manager.loadContext(path)
        assert.deepEqual(loaded.result, result)
        assert.deepEqual(loaded.args, { a: { b: 1 } })
        const elsewhere = await new ContextManager({ contextDir }).loadContext(path)
        assert.deepEqual(elsewhere, loaded)
        assert.equal(JSON.stringify(elsewhere), readFileSync(path, 'utf8'))
      }
      await manager.clear()
    }))

  it('accepts a bare file name and other spellings of the path', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const small = await manager.saveContext('tool', {}, 'small')
      const large = await manager.saveContext('tool', {}, 'x'.repeat(50_000))
      for (const path of [small, large]) {
        const name = basename(path)
        for (const spelling of [
          name,
          `${contextDir}/./${name}`,
          `${contextDir}/x/../${name}`,
          `${contextDir}//${name}`,
        ]) {
          assert.equal((await manager.loadContext(spelling)).toolName, 'tool', spelling)
        }
      }
      await manager.clear()
    }))

  it('accepts a context directory that is reached through a symbolic link', onDisk('links'), () =>
    inDirectory(async (directory) => {
      const [real, link] = [join(directory, 'real'), join(directory, 'link')]
      mkdirSync(real)
      symlinkSync(real, link)
      const manager = new ContextManager({ contextDir: link })
      const path = await manager.saveContext('tool', {}, 'x'.repeat(50_000))
      assert.ok(path.startsWith(`${link}/`), "paths are spelt as the caller's directory")
      assert.equal((await manager.loadContext(path)).toolName, 'tool')
      assert.equal((await manager.loadContext(join(real, basename(path)))).toolName, 'tool')
      const fresh = new ContextManager({ contextDir: link })
      assert.equal((await fresh.loadContext(path)).toolName, 'tool')
      await manager.clear()
    }),
  )

  it('accepts the real path of a linked directory before the first save, too', onDisk('links'), () =>
    inDirectory(async (directory) => {
      const [real, link] = [join(directory, 'real'), join(directory, 'link')]
      mkdirSync(real)
      symlinkSync(real, link)
      writeFileSync(join(real, 'x.json'), RECORD)
      const manager = new ContextManager({ contextDir: link })
      assert.equal((await manager.loadContext(join(link, 'x.json'))).result, 1)
      assert.equal((await manager.loadContext(join(real, 'x.json'))).result, 1)
    }),
  )

  it('reads any record in the directory, whatever its name and key order', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      mkdirSync(join(contextDir, 'inner'))
      writeFileSync(join(contextDir, 'other name.json'), '{ "result": [1, 2], "toolName": "theirs" }\n')
      writeFileSync(join(contextDir, 'inner', 'x.json'), RECORD)
      const foreign = await manager.loadContext(join(contextDir, 'other name.json'))
      assert.deepEqual(foreign.result, [1, 2])
      assert.deepEqual([foreign.toolName, foreign.args, foreign.toolDescription], ['theirs', {}, 'theirs'])
      assert.equal((await manager.loadContext(join(contextDir, 'inner', 'x.json'))).result, 1)
    }))

  it('rejects what is no context, each with its code', () =>
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'contexts')
      const manager = new ContextManager({ contextDir })
      const whole = await manager.saveContext('tool', {}, 'x'.repeat(50_000))
      const file = (name: string, content: string | Uint8Array): string => {
        writeFileSync(join(contextDir, name), content)
        return join(contextDir, name)
      }
      writeFileSync(join(directory, 'outside.json'), RECORD)
      mkdirSync(join(directory, 'contexts-evil'))
      writeFileSync(join(directory, 'contexts-evil', 'x.json'), RECORD)
      mkdirSync(join(contextDir, 'folder.json'))
      const cut = await manager.saveContext('tool', {}, 'y'.repeat(50_000))
      truncateSync(cut, 30_000)
      const outside = 'ERR_CONTEXT_OUTSIDE_DIRECTORY'
      const corrupt = 'ERR_CONTEXT_CORRUPT'
      const table: [string, ContextErrorCode][] = [
        [join(contextDir, 'missing.json'), 'ERR_CONTEXT_NOT_FOUND'],
        ['missing.json', 'ERR_CONTEXT_NOT_FOUND'],
        [join(contextDir, 'missing', 'x.json'), 'ERR_CONTEXT_NOT_FOUND'],
        [file('empty.json', ''), corrupt],
        [file('blank.json', ' \n'), corrupt],
        [cut, corrupt],
        [file('half.json', RECORD.slice(0, 40)), corrupt],
        [file('nonsense.json', 'not json'), corrupt],
        [file('trailing.json', `${RECORD} x`), corrupt],
        [file('twice.json', RECORD + RECORD), corrupt],
        [file('binary.json', new Uint8Array([0, 255, 254, 123, 125])), corrupt],
        [file('package.json', '{"name":"x","version":"1.0.0"}'), corrupt],
        [file('array.json', '[]'), corrupt],
        [file('null.json', 'null'), corrupt],
        [file('number.json', '5'), corrupt],
        [file('no-result.json', '{"toolName":"t","args":{}}'), corrupt],
        [file('wrong-name.json', '{"toolName":5,"args":{},"result":1}'), corrupt],
        [file('wrong-args.json', '{"toolName":"t","args":[],"result":1}'), corrupt],
        [join(directory, 'outside.json'), outside],
        [join(contextDir, '..', 'outside.json'), outside],
        [`${contextDir}/../outside.json`, outside],
        ['../outside.json', outside],
        [join(directory, 'contexts-evil', 'x.json'), outside],
        ['/etc/passwd', outside],
        ['', outside],
        ['.', outside],
        ['..', outside],
        [contextDir, outside],
        [`${contextDir}/`, outside],
        [`${whole}\0.json`, outside],
        ['/', outside],
      ]
      if (!isInjected) {
        const invalid = Buffer.from(RECORD.replace('"result":1', '"result":"\xff"'), 'latin1')
        table.push([file('invalid-utf8.json', invalid), corrupt])
      }
      for (const [path, code] of table) {
        await rejectsWith(() => manager.loadContext(path), code)
        await rejectsWith(() => new ContextManager({ contextDir }).loadContext(path), code)
      }
      await assert.rejects(manager.loadContext(join(contextDir, 'folder.json')), (error: { code?: string }) =>
        // A database has no empty directories.
        (isOnDisk ? /^ERR_CONTEXT_(OUTSIDE_DIRECTORY|CORRUPT|IO)$/ : /NOT_FOUND$/).test(error.code ?? ''),
      )
      assert.equal((await manager.loadContext(whole)).toolName, 'tool')
    }))

  const links: [string, (directory: string, inside: string) => string, string][] = [
    ['to a file outside', (directory) => join(directory, 'outside.json'), 'link.json'],
    ['to a context inside', (_, inside) => inside, 'link.json'],
    ['to a folder outside', (directory) => directory, join('link.json', 'outside.json')],
    ['to nothing', () => '/nowhere', 'link.json'],
    ['to itself', () => 'link.json', 'link.json'],
  ]
  for (const [name, target, path] of links) {
    it(`follows no symbolic link ${name}`, onDisk('links'), () =>
      inDirectory(async (directory) => {
        const contextDir = join(directory, 'contexts')
        const manager = new ContextManager({ contextDir })
        const inside = await manager.saveContext('tool', {}, 'x'.repeat(50_000))
        writeFileSync(join(directory, 'outside.json'), RECORD)
        symlinkSync(target(directory, inside), join(contextDir, 'link.json'))
        await rejectsWith(() => manager.loadContext(join(contextDir, path)), 'ERR_CONTEXT_OUTSIDE_DIRECTORY')
      }),
    )
  }

  it('names the path in its errors', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      writeFileSync(join(contextDir, 'empty.json'), '')
      await rejectsWith(() => manager.loadContext(join(contextDir, 'gone.json')), 'ERR_CONTEXT_NOT_FOUND', /gone\.json/)
      await rejectsWith(() => manager.loadContext('empty.json'), 'ERR_CONTEXT_CORRUPT', /empty\.json/)
      await rejectsWith(() => manager.loadContext('/etc/passwd'), 'ERR_CONTEXT_OUTSIDE_DIRECTORY', /\/etc\/passwd/)
    }))

  it('rejects for a directory that does not exist, and does not create it', () =>
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'missing')
      const manager = new ContextManager({ contextDir })
      await rejectsWith(() => manager.loadContext(join(contextDir, 'x.json')), 'ERR_CONTEXT_NOT_FOUND')
      assert.deepEqual(await manager.loadContexts(['x.json']), [])
      assert.deepEqual(await manager.listContexts(), [])
      assert.equal(await manager.forget(join(contextDir, 'x.json')), false)
      assert.equal(existsSync(contextDir), false)
    }))
})

describe('loadContexts', () => {
  it('loads one, several, none, in the order asked for', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const paths: string[] = []
      for (let index = 0; index < 30; index++) {
        paths.push(await manager.saveContext('tool', { index }, index % 3 === 0 ? 'x'.repeat(40_000) : index))
      }
      const shuffled = paths.map((_, index) => (index * 7) % paths.length)
      const loaded = await manager.loadContexts(shuffled.map((index) => paths[index] as string))
      assert.deepEqual(
        loaded.map(({ args }) => args['index']),
        shuffled,
      )
      assert.deepEqual(await manager.loadContexts([]), [])
      assert.equal((await manager.loadContexts([paths[3] as string])).length, 1)
      assert.equal((await manager.loadContexts([paths[3] as string, paths[3] as string])).length, 2)
      await manager.clear()
    }))

  it('skips what it cannot read and reports file and reason', () =>
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'contexts')
      const log = debugLog()
      const manager = new ContextManager({ contextDir, onDebug: log })
      const first = await manager.saveContext('first', {}, 'x'.repeat(40_000))
      const gone = await manager.saveContext('gone', {}, 'x'.repeat(40_000))
      const last = await manager.saveContext('last', {}, 1)
      rmSync(gone)
      if (isOnDisk) {
        mkdirSync(join(contextDir, 'folder.json'))
      }
      if (isLocal) {
        symlinkSync(first, join(contextDir, 'link.json'))
      }
      for (const [name, content] of [
        ['malformed.json', '{nonsense'],
        ['empty.json', ''],
        ['cut.json', RECORD.slice(0, 60)],
        ['foreign.json', '{"a":1}'],
      ] as const) {
        writeFileSync(join(contextDir, name), content)
      }
      const failing: [string, RegExp][] = [
        [gone, /not found/],
        [join(contextDir, 'never.json'), /not found/],
        [join(contextDir, 'malformed.json'), /Failed to load/],
        [join(contextDir, 'empty.json'), /Failed to load/],
        [join(contextDir, 'cut.json'), /Failed to load/],
        [join(contextDir, 'foreign.json'), /Failed to load/],
        [join(contextDir, 'folder.json'), isOnDisk ? /Failed to load/ : /not found/],
        [join(contextDir, 'link.json'), isLocal ? /Failed to load/ : /not found/],
        [join(directory, 'outside.json'), /Failed to load/],
        ['/etc/passwd', /Failed to load/],
      ]
      for (const [path, reason] of failing) {
        const before = log.entries.length
        const loaded = await manager.loadContexts([first, path, last])
        assert.deepEqual(
          loaded.map(({ toolName }) => toolName),
          ['first', 'last'],
        )
        const said = log.messages.slice(before)
        const about = said.filter((message) => message.includes(basename(path)))
        assert.equal(about.length, 1, said.join('\n'))
        assert.match(about[0] as string, reason)
      }
      const all = await manager.loadContexts([...failing.map(([path]) => path), last, first])
      assert.deepEqual(
        all.map(({ toolName }) => toolName),
        ['last', 'first'],
      )
      await manager.clear()
    }))

  const notTexts: [string, unknown][] = [
    ['undefined', undefined],
    ['null', null],
    ['a number', 5],
    ['an object', {}],
    ['a symbol', Symbol('s')],
    ['a pointer', { filepath: 'x' }],
    ['an object without a prototype', Object.create(null)],
    [
      'an object whose toString throws',
      {
        toString: () => {
          throw new Error('no text')
        },
      },
    ],
  ]
  for (const [name, value] of notTexts) {
    it(`skips what is no path: ${name}`, () =>
      inDirectory(async (contextDir) => {
        const log = debugLog()
        const manager = new ContextManager({ contextDir, onDebug: log })
        const path = await manager.saveContext('tool', {}, 1)
        const loaded = await manager.loadContexts(wrong([value, path]))
        assert.equal(loaded.length, 1)
        assert.match(log.messages.at(-1) ?? '', /Failed to load/)
        await manager.clear()
      }))
  }
})
