/** `fileBackendContract`: a `BackendProtocolV2` of Deep Agents. */

import assert from 'node:assert/strict'
import { type Cases, type ContractOptions, registerCases } from './register.ts'

type Maybe<T> = T | Promise<T>
type Failing = { error?: string | undefined }
type Files = Failing & { files?: { path: string; is_dir?: boolean }[] | undefined }

/** The methods of a file backend that are tested. The cases of an optional method pass if the backend does not have it. */
export interface FileBackendSubject {
  ls(path: string): Maybe<Files>
  read(
    path: string,
    offset?: number,
    limit?: number,
  ): Maybe<Failing & { content?: string | Uint8Array | undefined; nextOffset?: number | undefined }>
  readRaw(path: string): Maybe<Failing & { data?: { content: unknown } | undefined }>
  write(path: string, content: string): Maybe<Failing>
  edit(
    path: string,
    oldText: string,
    newText: string,
    isAll?: boolean,
  ): Maybe<Failing & { occurrences?: number | undefined }>
  grep(
    pattern: string,
    path?: string | null,
    glob?: string | null,
    maxCount?: number | null,
  ): Maybe<Failing & { matches?: { path: string; line: number; text: string }[] | undefined }>
  glob(pattern: string, path?: string): Maybe<Files>
  delete?(path: string): Maybe<Failing>
  uploadFiles?(files: [string, Uint8Array][]): Maybe<{ path: string; error: string | null }[]>
  downloadFiles?(paths: string[]): Maybe<{ path: string; content: Uint8Array | null; error: string | null }[]>
}

async function write(backend: FileBackendSubject, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    assert.equal((await backend.write(path, content)).error, undefined, `${path} has to be written`)
  }
}

/** Asserts that a failure is returned, not thrown, so that the model can read it. */
async function refused(result: Maybe<Failing>): Promise<void> {
  assert.equal(typeof (await result).error, 'string')
}

async function pathsOf(result: Maybe<Files>): Promise<string[]> {
  return ((await result).files ?? []).map(({ path }) => path).sort()
}

const contentOf = async (backend: FileBackendSubject, path: string) => (await backend.read(path)).content

const cases: Cases<FileBackendSubject> = {
  alone: {
    async 'reads what was written, and what was written over it'(backend) {
      const text = 'ünï 🙂\n\n $& \\n\ttabs'
      await write(backend, { '/deep/er/a.md': 'before', '/b.md': 'x' })
      await write(backend, { '/deep/er/a.md': text })
      assert.equal(await contentOf(backend, '/deep/er/a.md'), text)
      assert.equal((await backend.readRaw('/deep/er/a.md')).data?.content, text)
    },
    async 'reads lines from an offset, and says where to go on'(backend) {
      await write(backend, { '/a.txt': 'one\ntwo\nthree' })
      const first = await backend.read('/a.txt', 0, 2)
      assert.deepEqual([first.content, first.nextOffset], ['one\ntwo', 2])
      const second = await backend.read('/a.txt', 2, 2)
      assert.deepEqual([second.content, second.nextOffset], ['three', undefined])
    },
    async 'answers what fails with an error'(backend) {
      await write(backend, { '/a.txt': 'one' })
      await refused(backend.read('/missing.txt'))
      await refused(backend.edit('/missing.txt', 'a', 'b'))
      await refused(backend.edit('/a.txt', 'none', 'b'))
      if (backend.delete !== undefined) {
        await refused(backend.delete('/missing.txt'))
      }
    },
    async 'replaces a text that is there once, or all of them where asked'(backend) {
      await write(backend, { '/a.txt': 'one two two' })
      assert.equal((await backend.edit('/a.txt', 'one', '$& 1')).occurrences, 1)
      await refused(backend.edit('/a.txt', 'two', '2'))
      assert.equal((await backend.edit('/a.txt', 'two', '2', true)).occurrences, 2)
      assert.equal(await contentOf(backend, '/a.txt'), '$& 1 2 2')
    },
    async 'lists a directory without what is deeper'(backend) {
      await write(backend, { '/a.txt': '1', '/src/b.txt': '2', '/src/deep/c.txt': '3' })
      assert.deepEqual(await pathsOf(backend.ls('/')), ['/a.txt', '/src/'])
      assert.deepEqual(await pathsOf(backend.ls('/src')), ['/src/b.txt', '/src/deep/'])
      assert.deepEqual(await pathsOf(backend.ls('/missing')), [])
    },
    async 'finds files by their paths'(backend) {
      await write(backend, { '/a.md': '1', '/src/b.ts': '2', '/src/deep/c.ts': '3' })
      assert.deepEqual(await pathsOf(backend.glob('**/*.ts')), ['/src/b.ts', '/src/deep/c.ts'])
      assert.deepEqual(await pathsOf(backend.glob('*.ts', '/src')), ['/src/b.ts'])
      assert.deepEqual(await pathsOf(backend.glob('*.md')), ['/a.md'])
    },
    async 'finds lines by a literal text'(backend) {
      await write(backend, { '/a.md': 'one\n.*(\ntwo .*(', '/src/b.ts': '.*(' })
      const found = async (...given: Parameters<FileBackendSubject['grep']>) =>
        ((await backend.grep(...given)).matches ?? []).map(({ path, line, text }) => `${path}:${line}:${text}`).sort()
      assert.deepEqual(await found('.*('), ['/a.md:2:.*(', '/a.md:3:two .*(', '/src/b.ts:1:.*('])
      assert.deepEqual(await found('.*(', '/src'), ['/src/b.ts:1:.*('])
      assert.deepEqual(await found('.*(', '/', '*.ts'), ['/src/b.ts:1:.*('])
      assert.equal((await found('.*(', '/', null, 2)).length, 2)
    },
    async 'deletes a file, or a directory with all that is in it'(backend) {
      if (backend.delete === undefined) {
        return
      }
      await write(backend, { '/a.md': '1', '/src/b.ts': '2', '/src/deep/c.ts': '3', '/src-2/d.ts': '4' })
      assert.equal((await backend.delete('/a.md')).error, undefined)
      assert.equal((await backend.delete('/src')).error, undefined)
      assert.deepEqual(await pathsOf(backend.glob('**/*')), ['/src-2/d.ts'])
      await refused(backend.read('/src/b.ts'))
    },
    async 'keeps bytes as they are'(backend) {
      if (backend.uploadFiles === undefined || backend.downloadFiles === undefined) {
        return
      }
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
      const [stored] = await backend.uploadFiles([['/image.png', bytes]])
      assert.equal(stored?.error, null)
      const [found, missing] = await backend.downloadFiles(['/image.png', '/missing.png'])
      assert.deepEqual([...(found?.content ?? [])], [...bytes])
      assert.deepEqual([missing?.content, missing?.error], [null, 'file_not_found'])
    },
    async 'does not leave its tree'(backend) {
      await write(backend, { '/a.md': 'one' })
      for (const path of ['/../a.md', '/x/../../a.md', '../a.md']) {
        await refused(backend.write(path, 'changed'))
        await refused(backend.read(path))
        await refused(backend.edit(path, 'one', 'changed'))
      }
      assert.equal(await contentOf(backend, '/a.md'), 'one')
    },
  },
  reopened: {
    async 'has its files when it is opened again'(backend, reopen) {
      await write(backend, { '/src/a.md': 'one' })
      assert.equal(await contentOf(await reopen(), '/src/a.md'), 'one')
    },
    async 'loses no edit of two at once'(backend, reopen) {
      const other = await reopen()
      const names = Array.from({ length: 10 }, (_, index) => `line ${index}.`)
      await write(backend, { '/a.md': names.join('\n') })
      const edit = (name: string, index: number) =>
        (index % 2 === 0 ? backend : other).edit('/a.md', name, name.replace('line', 'done'))
      await Promise.all(names.map(edit))
      assert.equal(await contentOf(backend, '/a.md'), names.join('\n').replaceAll('line', 'done'))
    },
  },
}

/** Registers tests of the behaviour that Deep Agents expects of a backend; its `FilesystemBackend` passes them with `virtualMode: true`. */
export function fileBackendContract<Subject extends FileBackendSubject>(options: ContractOptions<Subject>): void {
  registerCases(options, cases)
}
