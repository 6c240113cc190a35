/** `memoryContract`: the handlers of Anthropic's memory tool. */

import assert from 'node:assert/strict'
import { type Cases, type ContractOptions, registerCases } from './register.ts'

/** The handlers of the memory tool that are tested. A refused command throws. */
export interface MemorySubject {
  view(command: never): unknown
  create(command: never): unknown
  str_replace(command: never): unknown
  insert(command: never): unknown
  delete(command: never): unknown
  rename(command: never): unknown
}

type Command = keyof MemorySubject
const path = '/memories/notes/a.md'

/** What a command answers, as a text. */
async function run(memory: MemorySubject, command: Command, given: object): Promise<string> {
  const answer = await memory[command]({ command, ...given } as never)
  return typeof answer === 'string' ? answer : JSON.stringify(answer)
}

const refused = (memory: MemorySubject, command: Command, given: object) =>
  assert.rejects(run(memory, command, given), Error, `${command} of ${JSON.stringify(given)} has to be refused`)

/** The lines of a file, without their numbers. */
async function linesOf(memory: MemorySubject, file = path): Promise<string[]> {
  const lines = (await run(memory, 'view', { path: file })).split('\n').slice(1)
  return lines.map((line) => line.replace(/^\s*\d+\t/, ''))
}

const cases: Cases<MemorySubject> = {
  alone: {
    async 'shows a memory that is empty'(memory) {
      assert.match(await run(memory, 'view', { path: '/memories' }), /\/memories/)
    },
    async 'creates a file with its directories, and shows it with line numbers'(memory) {
      await run(memory, 'create', { path, file_text: 'one\ntwo\nthree' })
      assert.match(await run(memory, 'view', { path }), /1\tone\n\s*2\ttwo\n\s*3\tthree$/)
      assert.match(await run(memory, 'view', { path, view_range: [2, 2] }), /\n\s*2\ttwo$/)
      const listing = await run(memory, 'view', { path: '/memories' })
      assert.ok(listing.includes('/memories/notes') && listing.includes(path), 'both are listed')
    },
    async 'keeps texts as they are'(memory) {
      const lines = ['ünï 🙂', '', ' \ttabs ', '$& $1 \\n', 'x'.repeat(10_000)]
      await run(memory, 'create', { path, file_text: lines.join('\n') })
      assert.deepEqual(await linesOf(memory), lines)
    },
    async 'does not overwrite a file with a new one'(memory) {
      await run(memory, 'create', { path, file_text: 'one' })
      await refused(memory, 'create', { path, file_text: 'two' })
      await refused(memory, 'create', { path: '/memories/notes', file_text: 'two' })
      await refused(memory, 'create', { path: `${path}/below`, file_text: 'two' })
      assert.deepEqual(await linesOf(memory), ['one'])
    },
    async 'replaces a text that is there once'(memory) {
      await run(memory, 'create', { path, file_text: 'one\ntwo\ntwo' })
      await run(memory, 'str_replace', { path, old_str: 'one', new_str: '$& 1' })
      await refused(memory, 'str_replace', { path, old_str: 'two', new_str: '2' })
      await refused(memory, 'str_replace', { path, old_str: 'none', new_str: '0' })
      assert.deepEqual(await linesOf(memory), ['$& 1', 'two', 'two'])
    },
    async 'inserts after a line'(memory) {
      await run(memory, 'create', { path, file_text: 'one\nthree' })
      await run(memory, 'insert', { path, insert_line: 1, insert_text: 'two\n' })
      await run(memory, 'insert', { path, insert_line: 0, insert_text: 'zero' })
      await refused(memory, 'insert', { path, insert_line: 99, insert_text: 'x' })
      assert.deepEqual(await linesOf(memory), ['zero', 'one', 'two', 'three'])
    },
    async 'renames files and directories, over nothing'(memory) {
      await run(memory, 'create', { path, file_text: 'one' })
      await run(memory, 'create', { path: '/memories/b.md', file_text: 'two' })
      await run(memory, 'rename', { old_path: '/memories/notes', new_path: '/memories/moved/far' })
      assert.deepEqual(await linesOf(memory, '/memories/moved/far/a.md'), ['one'])
      await refused(memory, 'view', { path })
      await refused(memory, 'rename', { old_path: '/memories/moved/far/a.md', new_path: '/memories/b.md' })
      await refused(memory, 'rename', { old_path: '/memories/none', new_path: '/memories/c.md' })
      await refused(memory, 'rename', { old_path: '/memories/moved', new_path: '/memories/moved/within' })
      assert.deepEqual(await linesOf(memory, '/memories/b.md'), ['two'])
    },
    async 'deletes a file, or a directory with all that is in it, but not the memory'(memory) {
      await run(memory, 'create', { path, file_text: 'one' })
      await refused(memory, 'delete', { path: '/memories' })
      await run(memory, 'delete', { path: '/memories/notes' })
      await refused(memory, 'view', { path })
      await refused(memory, 'delete', { path })
    },
    async 'refuses commands on what is not there, and edits of directories'(memory) {
      await run(memory, 'create', { path, file_text: 'one' })
      for (const wrong of ['/memories/none', '/memories/notes']) {
        await refused(memory, 'str_replace', { path: wrong, old_str: 'a', new_str: 'b' })
        await refused(memory, 'insert', { path: wrong, insert_line: 0, insert_text: 'x' })
      }
    },
    async 'refuses paths that leave the memory'(memory) {
      await run(memory, 'create', { path, file_text: 'one' })
      for (const wrong of ['/memories/../x', '/memories/a/../../x', '/etc/passwd', 'x', '../x', '']) {
        await refused(memory, 'view', { path: wrong })
        await refused(memory, 'create', { path: wrong, file_text: 'x' })
        await refused(memory, 'delete', { path: wrong })
        await refused(memory, 'rename', { old_path: path, new_path: wrong })
        await refused(memory, 'rename', { old_path: wrong, new_path: '/memories/x' })
      }
      assert.deepEqual(await linesOf(memory), ['one'])
    },
  },
  reopened: {
    async 'has its files when it is opened again'(memory, reopen) {
      await run(memory, 'create', { path, file_text: 'one' })
      assert.deepEqual(await linesOf(await reopen()), ['one'])
    },
    async 'loses no edit of two at once'(memory, reopen) {
      const other = await reopen()
      const names = Array.from({ length: 10 }, (_, index) => `line ${index}`)
      await run(memory, 'create', { path, file_text: 'first' })
      const insert = (name: string, index: number) =>
        run(index % 2 === 0 ? memory : other, 'insert', { path, insert_line: 1, insert_text: name })
      await Promise.all(names.map(insert))
      assert.deepEqual((await linesOf(memory)).slice(1).sort(), names)
    },
  },
}

/** Registers tests of the behaviour that a model expects of the memory tool; `BetaLocalFilesystemMemoryTool` of the SDK passes them. */
export function memoryContract<Subject extends MemorySubject>(options: ContractOptions<Subject>): void {
  registerCases(options, cases)
}
