/** `memoryHandlers`: stores the files of the memory tool in a `StateStore`, with the same answers as the SDK's own local implementation. */

import { posix } from 'node:path'
import { optional } from '../../arguments/checks.ts'
import { contextError, invalidArgument } from '../../arguments/errors.ts'
import { knownOptions } from '../../arguments/known-options.ts'
import type { StateStore } from '../../index.ts'
import type { FileChanges } from '../state-file-changes.ts'
import { checkFilesNamespace, checkModelText, type Located } from '../state-file-entries.ts'
import { StateFiles } from '../state-files.ts'
import { checkState } from '../state-items.ts'
import { edited, fileView, insertLine, listing, replaceOnce } from './memory-texts.ts'

/** Options of `memoryHandlers`. */
export interface MemoryHandlersOptions {
  /** The namespace of the memory, such as `['user', userId]`. Memories in different namespaces are separate. */
  namespace?: readonly string[] | null | undefined
}

/** Handlers for `betaMemoryTool(handlers)`. A refused command throws an error whose message is the text for the model. */
export interface MemoryHandlers {
  view(command: { path: string; view_range?: readonly number[] | undefined }): Promise<string>
  create(command: { path: string; file_text: string }): Promise<string>
  str_replace(command: { path: string; old_str: string; new_str: string }): Promise<string>
  insert(command: { path: string; insert_line: number; insert_text: string }): Promise<string>
  delete(command: { path: string }): Promise<string>
  rename(command: { old_path: string; new_path: string }): Promise<string>
}

/** The directory of the memory, as the model names it. */
const MEMORY = '/memories'
/** Paths are resolved below this directory, so that a path such as `../memories` is recognised as leaving the memory. */
const ABOVE = '/above'

const memoryOptions = knownOptions<MemoryHandlersOptions>('MemoryHandlersOptions', { namespace: true })

/**
 * Returns handlers that store a model's memory: `betaMemoryTool(memoryHandlers(state))`. Any number of processes may share the
 * memory; each change is atomic. Texts are read back unchanged: a `StateStore` does not redact by default.
 */
export function memoryHandlers(state: StateStore, options?: MemoryHandlersOptions | null): MemoryHandlers {
  const { namespace } = optional(options, 'options', memoryOptions) ?? {}
  const below = optional(namespace, 'namespace', checkFilesNamespace) ?? []
  const files = new StateFiles(checkState(state), ['anthropic', ...below])
  const textAt = async (reader: StateFiles | FileChanges, path: string): Promise<string> => {
    const content = (await reader.read(path)) ?? ''
    return typeof content === 'string' ? content : new TextDecoder('utf-8', { ignoreBOM: true }).decode(content)
  }
  const edit = (given: string, change: (text: string) => { text: string; answer: string }): Promise<string> =>
    files.change(async (changes) => {
      const path = pathOf(given)
      const { entry } = await locate(changes, path)
      if (entry === undefined) {
        throw contextError('ERR_CONTEXT_NOT_FOUND', `The path ${given} does not exist. Please provide a valid path.`)
      }
      if (entry.isDirectory) {
        throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', `The path ${given} is not a file.`)
      }
      const { text, answer } = change(await textAt(changes, path))
      await changes.write(path, text)
      return answer
    })

  return {
    async view({ path: given, view_range: range }) {
      const path = pathOf(given)
      const { entry } = await locate(files, path)
      if (entry === undefined) {
        throw contextError('ERR_CONTEXT_NOT_FOUND', `The path ${given} does not exist. Please provide a valid path.`)
      }
      return entry.isDirectory ? listing(files, path, given) : fileView(await textAt(files, path), given, range)
    },

    async create({ path: given, file_text: text }) {
      const path = pathOf(given)
      checkModelText(text, 'file_text')
      return files.change(async (changes) => {
        const { entry } = await locate(changes, path)
        if (entry !== undefined) {
          throw contextError('ERR_CONTEXT_CONFLICT', `File ${given} already exists`)
        }
        await changes.write(path, text)
        return `File created successfully at: ${given}`
      })
    },

    async str_replace({ path, old_str: oldText, new_str: newText }) {
      checkModelText(oldText, 'old_str')
      checkModelText(newText, 'new_str')
      return edit(path, (text) => {
        const { text: changed, line } = replaceOnce(text, oldText, newText, path)
        return { text: changed, answer: edited(changed, line) }
      })
    },

    async insert({ path, insert_line: line, insert_text: text }) {
      checkModelText(text, 'insert_text')
      if (typeof line !== 'number' || !Number.isInteger(line)) {
        throw invalidArgument('insert_line', 'a whole number', line)
      }
      return edit(path, (before) => {
        return { text: insertLine(before, line, text), answer: `The file ${path} has been edited.` }
      })
    },

    async delete({ path: given }) {
      const path = pathOf(given)
      if (path === '/') {
        throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', `Cannot delete the ${MEMORY} directory itself`)
      }
      return files.change(async (changes) => {
        const { entry } = await locate(changes, path)
        if (entry === undefined) {
          throw contextError('ERR_CONTEXT_NOT_FOUND', `The path ${given} does not exist`)
        }
        await changes.remove(path)
        return `Successfully deleted ${given}`
      })
    },

    async rename({ old_path: given, new_path: newGiven }) {
      return files.change(async (changes) => {
        const path = pathOf(given)
        const { entry } = await locate(changes, path)
        const newPath = pathOf(newGiven)
        const { entry: existing } = await locate(changes, newPath)
        if (path === '/') {
          throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', `Cannot rename the ${MEMORY} directory itself`)
        }
        if (existing !== undefined) {
          throw contextError('ERR_CONTEXT_CONFLICT', `The destination ${newGiven} already exists`)
        }
        if (entry === undefined) {
          throw contextError('ERR_CONTEXT_NOT_FOUND', `The path ${given} does not exist`)
        }
        if (newPath.startsWith(`${path}/`)) {
          throw contextError(
            'ERR_CONTEXT_INVALID_ARGUMENT',
            `EINVAL: invalid argument, rename '${MEMORY}${path}' -> '${MEMORY}${newPath}'`,
          )
        }
        await changes.makeDirectories(posix.dirname(newPath))
        await changes.move(path, newPath)
        return `Successfully renamed ${given} to ${newGiven}`
      })
    },
  }
}

/** The path below the directory of the memory. */
function pathOf(given: string): string {
  checkModelText(given, 'path')
  if (!given.startsWith(MEMORY)) {
    throw contextError('ERR_CONTEXT_OUTSIDE_DIRECTORY', `Path must start with ${MEMORY}, got: ${given}`)
  }
  const root = ABOVE + MEMORY
  const path = posix.join(root, given.slice(MEMORY.length)).replace(/\/$/, '')
  if ((path !== root && !path.startsWith(`${root}/`)) || path.includes('\0')) {
    throw contextError('ERR_CONTEXT_OUTSIDE_DIRECTORY', `Path ${given} would escape ${MEMORY} directory`)
  }
  return path.slice(root.length) || '/'
}

/** Finds the entry at a path. A file in the place of a parent directory is an error for every command. */
async function locate(reader: StateFiles | FileChanges, path: string): Promise<Located> {
  const located = await reader.locate(path)
  if (located.obstacle?.isFile === true) {
    throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', `ENOTDIR: not a directory, realpath '${MEMORY}${path}'`)
  }
  return located
}
